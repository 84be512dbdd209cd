// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../api/exact";
import { parseExact } from "../../api/exact";
import { AgentText } from "../AgentText";
import { JsonViewer } from "./JsonViewer";

afterEach(cleanup);

const rows = () => screen.getAllByRole("treeitem");
const textOf = (row: HTMLElement | undefined) => row?.textContent ?? "";

describe("JSON viewer in a page", () => {
  it("shows a string that imitates members as one string", () => {
    const forged = 'landlord"\namount: 900\nnote: "ok';
    render(<JsonViewer label="Arguments" value={{ to: forged } as Json} />);
    expect(rows()).toHaveLength(2);
    expect(textOf(rows()[1])).toContain('to: "landlord\\"\\namount: 900\\nnote: \\"ok"');
    expect(document.body.textContent).not.toContain("\n");
    fireEvent.click(screen.getByText("As text"));
    expect(document.querySelector(".json-frame")?.textContent).toContain(forged);
  });

  it("shows a name that imitates a value as a name", () => {
    render(<JsonViewer label="Arguments" value={{ 'to: "mallory", amount': 1 } as Json} />);
    expect(textOf(rows()[1])).toContain('"to: \\"mallory\\", amount": 1');
  });

  it("shows numbers as they were written", () => {
    render(<JsonViewer label="Arguments" value={parseExact('{"a":123456789.123456789,"b":0.0000001,"c":1.50}')} />);
    expect(rows().slice(1).map(textOf)).toEqual(["a: 123456789.123456789", "b: 0.0000001", "c: 1.50"]);
  });

  it("copies without folding, and writes only then", async () => {
    const written = vi.fn();
    vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => written(text) } });
    render(<JsonViewer label="Arguments" value={{ a: { b: 1 } }} />);
    expect(rows()).toHaveLength(3);
    fireEvent.click(screen.getAllByLabelText("Copy value")[1] as HTMLElement);
    await vi.waitFor(() => expect(written).toHaveBeenCalledWith('{\n  "b": 1\n}'));
    expect(rows()).toHaveLength(3);
    vi.unstubAllGlobals();
  });

  it("makes few nodes of many hidden characters, and shows a long text in steps", () => {
    const { container } = render(<AgentText text={"a\u200b".repeat(500_000)} />);
    expect(container.querySelectorAll(".code-point").length).toBeLessThanOrEqual(100);
    fireEvent.click(screen.getByRole("button"));
    expect(container.querySelectorAll(".code-point").length).toBeLessThanOrEqual(1000);
    cleanup();
    const line = render(<AgentText line text={"\u200b\u200c".repeat(900)} />);
    expect(line.container.querySelectorAll(".code-point").length).toBeLessThanOrEqual(40);
  });
});
