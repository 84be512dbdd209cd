import { Link, type LinkProps } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import "./tabs.css";

interface TabsProps {
  label: string;
  /** The id and name of each; the first has no place in the address. */
  tabs: readonly (readonly [string, string])[];
  shown: string;
  /** What the query calls it. */
  name?: string;
}

/** Tabs lead to the parts of a thing. Each has an address: `tab` in the query. */
export function Tabs({ label, tabs, shown, name: member = "tab" }: TabsProps) {
  // A phone shows some of them: the one that is open must be among these.
  const strip = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is another place
  useEffect(() => {
    const open = strip.current?.querySelector<HTMLElement>("[data-shown]");
    if (strip.current && open) strip.current.scrollLeft = open.offsetLeft - strip.current.offsetLeft - 48;
  }, [shown]);
  const first = tabs[0]?.[0];
  return (
    <nav className="tabs" ref={strip} aria-label={label}>
      {tabs.map(([id, name]) => (
        <Link
          key={id}
          {...({
            to: ".",
            search: (old: object) => ({ ...old, [member]: id === first ? undefined : id }),
          } as unknown as LinkProps)}
          className="tab"
          activeOptions={{ explicitUndefined: true }}
          data-shown={id === shown || undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
