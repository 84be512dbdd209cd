import { expect, it } from "vitest";
import { Leader, type Message } from "./leader";
import type { StreamState } from "./sse";

function lead(seen = new Map<string, string>()) {
  const said: Message[] = [];
  const open = new Map<string, string | undefined>(); // streams and where they began
  const leader = new Leader(
    (message) => said.push(message),
    (org, source, options) => {
      open.set(`${org}/${source}`, options.resume);
      options.signal.addEventListener("abort", () => open.delete(`${org}/${source}`));
      options.onState({ is: "live" });
    },
    seen,
  );
  const stateOf = (org: string): StreamState["is"] | undefined =>
    said.flatMap((m) => (m.kind === "state" && m.org === org ? [m.state.is] : [])).at(-1);
  return { leader, open, stateOf };
}

it("holds four streams at most, and tells the others to poll", () => {
  const { leader, open, stateOf } = lead();
  for (const n of [1, 2, 3, 4]) leader.follow(`tab${n}`, `org${n}`);
  expect([...open.keys()]).toEqual(["org1/work", "org1/inbox", "org2/work", "org2/inbox"]);
  expect([1, 2, 3, 4].map((n) => stateOf(`org${n}`))).toEqual(["live", "live", "polling", "polling"]);
});

it("follows the next organization when a tab leaves, changes or is not heard of any more", () => {
  const { leader, open } = lead();
  for (const n of [1, 2, 3]) leader.follow(`tab${n}`, `org${n}`, 0);
  leader.leave("tab1", 0);
  expect(open.has("org1/work")).toBe(false);
  expect(open.has("org3/work")).toBe(true);
  leader.follow("tab2", "org3", 0);
  expect(open.has("org2/work")).toBe(false);
  leader.follow("tab9", "org9", 200_000);
  expect([...open.keys()]).toEqual(["org9/work", "org9/inbox"]);
});

it("begins after the last event that any tab saw", () => {
  const { leader, open } = lead(new Map([["org1/work", "77"]]));
  leader.follow("tab1", "org1");
  expect(open.get("org1/work")).toBe("77");
  expect(open.get("org1/inbox")).toBeUndefined();
});
