import { QueryClient, queryOptions } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { remember } from "./remember";

test("a reading that began before a change does not bring back what was", async () => {
  const client = new QueryClient();
  let answer = (_: string) => {};
  const query = queryOptions({
    queryKey: ["setting"],
    queryFn: () => new Promise<string>((resolve) => (answer = resolve)),
    retry: false,
  });
  client.setQueryData(query.queryKey, "before");
  const reading = client.fetchQuery(query).catch(() => {}); // which ends as a reading that was stopped
  await remember(client, query, "after");
  answer("before");
  await reading;
  expect(client.getQueryData(query.queryKey)).toBe("after");
});
