// What reaches far asks for the second factor again. A page offers to ask the person, and what was refused is sent once
// more when they have proved it.

let ask: (() => Promise<boolean>) | undefined;
let asking: Promise<boolean> | undefined;

/** offerProof says how a page asks for a code. It gives what ends it. */
export function offerProof(how: () => Promise<boolean>): () => void {
  ask = how;
  return () => {
    if (ask === how) ask = undefined;
  };
}

/** proved asks the person, once for all that wait, and gives whether they proved it. */
export function proved(): Promise<boolean> {
  if (!ask) return Promise.resolve(false);
  asking ??= ask().finally(() => {
    asking = undefined;
  });
  return asking;
}

/** wantsProof reports whether a refusal asks for a proof. */
export async function wantsProof(response: Response): Promise<boolean> {
  if (response.status !== 403) return false;
  try {
    return (await response.clone().json()).code === "second_factor_required";
  } catch {
    return false;
  }
}
