import { Link } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { words } from "../../words/en";
import { useEntries } from "./Nav";
import { useCounts } from "./useCounts";

const first = ["/", "/approvals", "/traces", "/findings"];

/** BottomBar is the navigation of a phone: three screens and the rest. */
export function BottomBar({ onMore }: { onMore: () => void }) {
  const counts = useCounts();
  const entries = useEntries()
    .filter((e) => first.includes(e.to))
    .slice(0, 3);
  return (
    <nav className="bottom-bar" aria-label={words.shell.navigation}>
      {entries.map(({ to, name, icon: Icon, counts: counted }) => (
        <Link
          key={to}
          to={to}
          className="bottom-link"
          activeProps={{ "aria-current": "page" }}
          activeOptions={{ exact: to === "/" }}
        >
          <Icon size={20} aria-hidden />
          <span>
            {name}
            {counted && counts[counted] > 0 ? ` ${counts[counted]}` : ""}
          </span>
        </Link>
      ))}
      <button type="button" className="bottom-link" onClick={onMore}>
        <Ellipsis size={20} aria-hidden />
        <span>{words.shell.menu}</span>
      </button>
    </nav>
  );
}
