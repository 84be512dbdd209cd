// What the API says in sentences, taken apart so that it can be drawn.

export interface Flow {
  untrusted: string[];
  private: string[];
  out: string[];
}

const form = /^untrusted input: (.+); private data: (.+); way out: (.+)$/s;

/**
 * flowOf reads the evidence of a toxic flow. Names are chosen by servers: where one could pass for more than a name,
 * nothing is read, and the evidence is shown as the text that it is.
 */
export function flowOf(evidence: string): Flow | undefined {
  const legs = form
    .exec(evidence)
    ?.slice(1)
    .map((leg) => leg.split(", "));
  if (!legs?.every((leg) => leg.every((name) => /^[^\s,;:]+$/.test(name)))) return undefined;
  const [untrusted = [], hidden = [], out = []] = legs;
  return { untrusted, private: hidden, out };
}

interface Asked {
  tool?: string | undefined;
  agent?: string | undefined;
}

/** agentsOf counts who called each tool, the most first. */
export function agentsOf(entries: Asked[]): Map<string, [agent: string, calls: number][]> {
  const counts = new Map<string, Map<string, number>>();
  for (const { tool = "", agent = "" } of entries) {
    const of = counts.get(tool) ?? new Map<string, number>();
    counts.set(tool, of.set(agent, (of.get(agent) ?? 0) + 1));
  }
  return new Map([...counts].map(([tool, of]) => [tool, [...of].sort((a, b) => b[1] - a[1])]));
}
