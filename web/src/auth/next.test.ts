import { expect, it } from "vitest";
import { safeNext } from "./next";

it.each([
  ["/traces?status=denied", "/traces?status=denied"],
  [undefined, "/"],
  ["https://evil.example", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/\tx", "/"],
  ["javascript:alert(1)", "/"],
])("goes on from %s to %s", (next, want) => expect(safeNext(next)).toBe(want));
