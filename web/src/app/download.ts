// Files are fetched with the access token and then saved: a link could not carry it.
import { send } from "../api/client";
import { errorOf } from "../api/errors";
import { fileName } from "../ui/clean";
import { explain } from "../ui/states";
import { toast } from "../ui/Toast";
import { words } from "../words/en";

/** download saves what a path of the API answers under a name, and says when that failed or was cut. */
export async function download(path: string, name: string): Promise<void> {
  const close = toast(words.ui.exporting, { life: 600_000 });
  try {
    const answer = await send(new Request(path));
    if (!answer.ok) throw errorOf(answer, await answer.text());
    const file = await answer.blob();
    if (await wasCut(file)) toast(words.ui.exportCut, { error: true });
    save(file, fileName(name));
  } catch (error) {
    const { title, help } = explain(error);
    toast(`${title} ${help}`, { error: true });
  } finally {
    close();
  }
}

// Exports of lines say at their end whether they are complete.
async function wasCut(file: Blob): Promise<boolean> {
  const end = (await file.slice(-4000).text()).trimEnd().split("\n").at(-1) ?? "";
  return /^\{"end":\{"complete":false/.test(end) || end.startsWith("# cut");
}

function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
