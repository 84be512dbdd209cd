import { Download } from "lucide-react";
import { Button } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { words } from "../words/en";
import { download } from "./download";

interface Choice {
  label: string;
  /** Of the API, with its query. */
  path: string;
  /** Of the file. */
  name: string;
}

/** ExportMenu saves what a list shows, in one of several forms. */
export function ExportMenu({ heading, choices }: { heading: string; choices: Choice[] }) {
  return (
    <Menu
      heading={heading}
      button={
        <Button>
          <Download size={14} aria-hidden />
          {words.ui.export}
        </Button>
      }
      items={choices.map((c) => ({ label: c.label, onSelect: () => void download(c.path, c.name) }))}
    />
  );
}

/** pathWith is a path with a query; members that are undefined are left out. */
export function pathWith(path: string, query: Record<string, unknown>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}
