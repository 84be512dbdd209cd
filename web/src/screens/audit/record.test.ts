import { describe, expect, it } from "vitest";
import type { Entry } from "./queries";
import { tell } from "./record";

const record =
  '{"action":"call.decided","actor":{"id":"k1","kind":"key"},"agent":"billing","epoch":0,"index":7,"log":"org-1","payload":"ab","plan":"p1","policy":"q1","rule":"large","server":"bank","step":"2","subject":{"id":"7","type":"call"},"time":1700000000000000,"tool":"send_money","v":1,"verdict":"deny"}';

describe("an entry as it is shown", () => {
  it("says what the record says, not what stands beside it", () => {
    const lying = { record, decision: "allow", tool: "web.fetch", agent: "other", index: 1, reason: "fine" };
    expect(tell(lying as unknown as Entry)).toMatchObject({
      index: 7,
      decision: "deny",
      tool: "send_money",
      server: "bank",
      agent: "billing",
      step: "2",
      reason: undefined,
      sealed: true,
      payload: undefined,
      time: "2023-11-14T22:13:20.000Z",
    });
  });

  it("gives the reason of the sealed payload, with exact numbers", () => {
    const entry = {
      record,
      payloadText: '{"arguments":{"amount":12345678901234567890},"reason":"too much","approval":"r1"}',
    };
    const told = tell(entry as unknown as Entry);
    expect(told.approval).toBe("r1");
    expect(told.reason).toBe("too much");
    expect(String((told.payload as { arguments: { amount: unknown } }).arguments.amount)).toBe("12345678901234567890");
  });
});
