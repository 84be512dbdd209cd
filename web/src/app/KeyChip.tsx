import { Link } from "@tanstack/react-router";
import { IdChip } from "../ui/CopyButton";
import { linkTo } from "./link";
import { useMay } from "./org";

/** KeyChip is the id of an API key, which leads to its row. */
export function KeyChip({ id, what }: { id: string; what?: string }) {
  const hidden = useMay("keys.own") !== undefined;
  const link = (text: React.ReactNode) => <Link {...linkTo("/settings/keys", { key: id })}>{text}</Link>;
  return <IdChip id={id} {...(what ? { what } : {})} {...(hidden ? {} : { within: link })} />;
}
