import { send } from "../../api/client";
import { errorOf } from "../../api/errors";
import { fileName } from "../../ui/clean";

/** saveAs hands a file to the person. */
export function saveAs(content: Blob | string, name: string): void {
  const blob = typeof content === "string" ? new Blob([content], { type: "application/json" }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** read asks for a text that is no JSON, with the token of this tab. */
export async function read(path: string, query: Record<string, string>): Promise<Response> {
  const answer = await send(new Request(`${path}?${new URLSearchParams(query)}`));
  if (!answer.ok) throw errorOf(answer, await answer.text());
  return answer;
}
