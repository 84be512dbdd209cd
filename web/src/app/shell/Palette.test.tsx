// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Palette } from "./Palette";

const went: object[] = [];
const answers = new Map<string, (items: object[]) => void>();

vi.mock("@tanstack/react-router", async (real) => ({
  ...(await real<object>()),
  useNavigate: () => (to: object) => went.push(to),
  useRouter: () => ({ routesById: { agent: { fullPath: "/agents/$id" } }, history: {} }),
}));
vi.mock("../org", () => ({ useOrg: () => ({ id: "org", rights: [] }) }));
vi.mock("./Nav", () => ({ useEntries: () => [{ to: "/sessions", name: "Sessions", icon: () => null }] }));
vi.mock("../../api/client", () => ({
  api: {
    get: (_: string, { params }: { params: { query: { q: string } } }) =>
      new Promise((done) => answers.set(params.query.q, (items) => done({ items, indexing: false }))),
  },
}));

afterEach(() => {
  cleanup();
  went.length = 0;
  answers.clear();
});

const agent = (id: string) => ({ kind: "agent", id, title: id, note: "", match: [] });
const selected = () => document.querySelector('[cmdk-item][aria-selected="true"]')?.textContent ?? "";

async function answered(query: string, ...ids: string[]) {
  await waitFor(() => expect(answers.has(query)).toBe(true));
  answers.get(query)?.(ids.map(agent));
}

it("selects the first result of each query, and opens none of an earlier one", async () => {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Palette onClose={() => {}} />
    </QueryClientProvider>,
  );
  const field = screen.getByRole("combobox");
  const type = (value: string) => fireEvent.change(field, { target: { value } });
  const enter = () => fireEvent.keyDown(field, { key: "Enter" });

  type("bill");
  await answered("bill", "billing-a", "billing-b");
  await waitFor(() => expect(selected()).toContain("billing-a"));
  fireEvent.keyDown(field, { key: "ArrowDown" });
  await waitFor(() => expect(selected()).toContain("billing-b"));

  type("zzq");
  enter();
  expect(went).toEqual([]);
  await answered("zzq", "zzq-one", "billing-b");
  await waitFor(() => expect(selected()).toContain("zzq-one"));
  enter();
  expect(went).toEqual([{ to: "/agents/$id", params: { id: "zzq-one" } }]);
});
