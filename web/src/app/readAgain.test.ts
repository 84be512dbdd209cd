import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { readAgain } from "./readAgain";

const key = ["org", "approvals", "pending"];

// shown is a query that somebody looks at: each reading is answered by hand.
function shown(client: QueryClient) {
  const answers: ((n: number) => void)[] = [];
  const queryFn = () => new Promise<number>((answer) => answers.push(answer));
  const stop = new QueryObserver(client, { queryKey: key, queryFn, staleTime: 10_000 }).subscribe(() => {});
  return { answers, stop };
}

test("what happens during the first reading is read afterwards", async () => {
  const client = new QueryClient();
  const { answers, stop } = shown(client);
  await expect.poll(() => answers.length).toBe(1);
  const again = readAgain(client, ["org", "approvals"]);
  answers[0]?.(1);
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.(2);
  await again;
  expect(client.getQueryData(key)).toBe(2);
  stop();
});

test("what happens during a later reading has it begun again", async () => {
  const client = new QueryClient();
  const { answers, stop } = shown(client);
  await expect.poll(() => answers.length).toBe(1);
  answers[0]?.(1);
  await expect.poll(() => client.getQueryData(key)).toBe(1);
  void readAgain(client, key);
  await expect.poll(() => answers.length).toBe(2);
  const again = readAgain(client, key);
  await expect.poll(() => answers.length).toBe(3);
  answers[2]?.(3);
  answers[1]?.(2);
  await again;
  expect(client.getQueryData(key)).toBe(3);
  stop();
});
