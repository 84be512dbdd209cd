import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { Command, defaultFilter } from "cmdk";
import { useEffect, useRef, useState } from "react";
import { api, type Body } from "../../api/client";
import { leave } from "../../auth/session";
import { AgentText } from "../../ui/AgentText";
import { setTheme, themes } from "../../ui/theme";
import { words } from "../../words/en";
import { useOrg } from "../org";
import { useEntries } from "./Nav";
import { recentThings } from "./recent";

const w = words.shell;

/** Palette goes to a screen, an entry or what a text names, and opens acts. It does nothing that could not be undone. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState("");
  const navigate = useNavigate();
  const router = useRouter();
  const entries = useEntries();
  const found = useFound(query);
  const { box, chosen, choose } = useFirst(`${query}\n${found.things.map((f) => f.id).join(" ")}`);
  const index = /^#?(\d{1,15})$/.exec(query.trim())?.[1];
  const run = (act: () => unknown) => () => {
    onClose();
    act();
  };
  return (
    <Command ref={box} label={w.palette} className="palette" value={chosen} onValueChange={choose} filter={scoreOf}>
      <Command.Input autoFocus className="input" placeholder={w.paletteHint} value={query} onValueChange={setQuery} />
      {found.indexing && <p className="menu-label">{w.paletteIndexing}</p>}
      <Command.List className="palette-list" label={w.palette}>
        <Command.Empty className="menu-label">{found.busy ? w.paletteSearching : w.paletteNone}</Command.Empty>
        {index && (
          <Command.Item
            className="menu-item"
            value={`${foundMark}#`}
            onSelect={run(() => navigate({ to: "/audit/$index", params: { index } }))}
          >
            {w.paletteEntry(index)}
          </Command.Item>
        )}
        {found.things.length > 0 && (
          <Command.Group heading={w.paletteFound}>
            {found.things.map((f) => (
              <Command.Item
                key={`${f.kind} ${f.id}`}
                className="menu-item"
                value={`${foundMark}${f.kind} ${f.id}`}
                onSelect={run(() =>
                  navigate({ to: f.to, params: f.params as never, ...(f.search && { search: f.search as never }) }),
                )}
              >
                <span className="faint">{w.paletteKinds[f.kind] ?? f.kind}</span>
                <span className="grow one-line">
                  <AgentText text={f.title} line />
                  <Match found={f} />
                </span>
                <span className="small faint">
                  <AgentText text={f.note} line />
                </span>
              </Command.Item>
            ))}
          </Command.Group>
        )}
        <Command.Group heading={w.paletteScreens}>
          {entries.map((e) => (
            <Command.Item key={e.to} className="menu-item" value={e.name} onSelect={run(() => navigate({ to: e.to }))}>
              <e.icon size={16} aria-hidden />
              <span className="grow">{e.name}</span>
              {e.key && <kbd>g {e.key}</kbd>}
            </Command.Item>
          ))}
          <Command.Item className="menu-item" value={w.screens.me} onSelect={run(() => navigate({ to: "/me" }))}>
            {w.screens.me}
          </Command.Item>
        </Command.Group>
        <Recents onOpen={(href) => run(() => router.history.push(`/ui${href}`))()} />
        <Command.Group heading={w.paletteActs}>
          {themes.map((t) => (
            <Command.Item key={t} className="menu-item" value={`${w.theme} ${t}`} onSelect={run(() => setTheme(t))}>
              {w.theme}: {w.themes[t]}
            </Command.Item>
          ))}
          <Command.Item className="menu-item" value={w.signOut} onSelect={run(leave)}>
            {w.signOut}
          </Command.Item>
        </Command.Group>
      </Command.List>
    </Command>
  );
}

// What the server found matches in its own way, and stands first.
const foundMark = "found ";
const scoreOf = (value: string, search: string, keywords?: string[]) =>
  value.startsWith(foundMark) ? 2 : defaultFilter(value, search, keywords);

/** useFirst selects the first row whenever other rows are shown: Enter opens what is highlighted, and something is. */
function useFirst(shown: string) {
  const box = useRef<HTMLDivElement>(null);
  const [chosen, choose] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows are those of what is shown
  useEffect(() => {
    // The rows are sorted after they were drawn.
    const timer = setTimeout(() => {
      const first = box.current?.querySelector("[cmdk-item]");
      choose(first?.getAttribute("data-value") ?? "");
      first?.scrollIntoView({ block: "nearest" });
    });
    return () => clearTimeout(timer);
  }, [shown]);
  return { box, chosen, choose };
}

/** Match is the text that the words were found in. Each piece is shown as what a client wrote. */
function Match({ found }: { found: Body<"FoundBody"> }) {
  if (found.match.length === 0) return null;
  return (
    <span className="small faint one-line">
      {found.match.map((piece, i) =>
        piece.hit ? (
          <mark key={i}>
            <AgentText text={piece.text} short />
          </mark>
        ) : (
          <AgentText key={i} text={piece.text} short />
        ),
      )}
    </span>
  );
}

function Recents({ onOpen }: { onOpen: (href: string) => void }) {
  const [list] = useState(recentThings);
  if (list.length === 0) return null;
  return (
    <Command.Group heading={w.paletteRecent}>
      {list.map((r) => (
        <Command.Item
          key={r.href}
          className="menu-item"
          value={`${r.area} ${r.name} ${r.href}`}
          onSelect={() => onOpen(r.href)}
        >
          <span className="faint">{r.area}</span>
          <span className="one-line">{r.name}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

// Where each kind is shown. Kinds without a screen are not offered.
const places: Record<string, { to: string; param?: string; search?: string }> = {
  agent: { to: "/agents/$id", param: "id" },
  approval: { to: "/approvals/$id", param: "id" },
  entry: { to: "/audit/$index", param: "index" },
  key: { to: "/settings/keys", search: "key" },
  member: { to: "/settings/members" },
  plan: { to: "/plans/$id", param: "id" },
  policy: { to: "/policies/$id", param: "id" },
  server: { to: "/servers/$id", param: "id" },
  session: { to: "/sessions/$id", param: "id" },
  trace: { to: "/traces/$id", param: "id" },
};

/** useFound is what the server finds for a text of two characters or more, once typing rests. */
function useFound(query: string) {
  const org = useOrg();
  const router = useRouter();
  const asked = query.trim();
  const text = useRested(asked, 150);
  const wanted = text.length >= 2 && text.length <= 200;
  // While somebody types on, what was found for less is not what they look for.
  const shows = wanted && text === asked;
  const search = useQuery({
    queryKey: [org.id, "search", text],
    queryFn: ({ signal }) => api.get("/search", { params: { query: { organizationId: org.id, q: text } }, signal }),
    enabled: wanted,
  });
  const known = new Set<string>(Object.values(router.routesById).map((r) => r.fullPath as string));
  const shown = (f: Body<"FoundBody">) => {
    const place = places[f.kind];
    if (!place || !known.has(place.to)) return [];
    return [
      {
        ...f,
        to: place.to,
        params: place.param ? { [place.param]: f.id } : {},
        ...(place.search ? { search: { [place.search]: f.id } } : {}),
      },
    ];
  };
  return {
    things: shows ? (search.data?.items.flatMap(shown) ?? []) : [],
    indexing: wanted && search.data?.indexing === true,
    busy: text !== asked || (wanted && search.isFetching),
  };
}

function useRested(text: string, ms: number): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return rested;
}
