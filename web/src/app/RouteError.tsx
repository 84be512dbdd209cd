import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { Empty, ErrorPanel } from "../ui/states";
import { words } from "../words/en";

/** RouteError is what is seen where a screen failed. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return <ErrorPanel error={error} retry={retry} />;
}

/** RouteMissing is what is seen at an address without a screen. */
export function RouteMissing() {
  return (
    <main className="alone">
      <NotHere />
    </main>
  );
}

/** NotHere says the same within the frame. */
export function NotHere() {
  return (
    <Empty title={words.shell.notFound} action={<Link to="/">{words.shell.toOverview}</Link>}>
      {words.shell.notFoundHelp}
    </Empty>
  );
}
