import { expect, it } from "vitest";
import { authOf } from "./auth";
import { agentsOf, flowOf } from "./flow";

it("takes a toxic flow apart", () => {
  expect(flowOf("untrusted input: web.fetch; private data: fs.read_file, db.rows, …; way out: mail.send")).toEqual({
    untrusted: ["web.fetch"],
    private: ["fs.read_file", "db.rows", "…"],
    out: ["mail.send"],
  });
});

it("reads nothing where a name could pass for more than a name", () => {
  for (const evil of ["x; way out: harmless", "a, b c", "x: y", "two words", "a\nb"])
    expect(flowOf(`untrusted input: web.${evil}; private data: fs.read; way out: mail.send`)).toBeUndefined();
  expect(flowOf("something else")).toBeUndefined();
});

it("counts who called which tool, the most first", () => {
  const entries = [
    { tool: "pay", agent: "a" },
    { tool: "pay", agent: "b" },
    { tool: "pay", agent: "b" },
    { tool: "get" },
  ];
  expect([...agentsOf(entries)]).toEqual([
    [
      "pay",
      [
        ["b", 2],
        ["a", 1],
      ],
    ],
    ["get", [["", 1]]],
  ]);
});

it("sends a secret only under the name of its kind", () => {
  const filled = { secret: "s", header: " X-Key " };
  expect(authOf({ ...filled, auth: "none" })).toEqual({ type: "none" });
  expect(authOf({ ...filled, auth: "oauth" })).toEqual({ type: "oauth" });
  expect(authOf({ ...filled, auth: "bearer" })).toEqual({ type: "bearer", token: "s" });
  expect(authOf({ ...filled, auth: "api_key" })).toEqual({ type: "api_key", api_key: "s", header_name: "X-Key" });
  expect(authOf({ ...filled, auth: "api_key", header: "" })).toEqual({ type: "api_key", api_key: "s" });
});
