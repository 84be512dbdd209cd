// What each part of the dashboard may weigh, in bytes, gzipped.
export const budgets = { initial: 195_000, route: 40_000, chart: 30_000, editor: 160_000, css: 20_000 };

// Parts that are no route: they load when a screen first needs them.
const parts = { "src/ui/chart/plot.ts": "chart", "src/ui/editor/view.ts": "editor" };

// sizes lists what a browser loads: at first, for each screen beyond that, for
// each part beyond that, and all styles.
export function sizes(manifest, bytesOf) {
  const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
  const first = reachable(manifest, entry);
  const scripts = (keys) => [...keys].map((key) => manifest[key].file).filter((file) => file.endsWith(".js"));
  const total = (list) => list.reduce((sum, file) => sum + bytesOf(file), 0);
  const list = [{ name: "initial", bytes: total(scripts(first)), budget: budgets.initial }];
  for (const key of Object.keys(manifest)) {
    if (!manifest[key].isDynamicEntry || first.has(key)) continue;
    const beyond = [...reachable(manifest, key)].filter((k) => !first.has(k));
    const kind = parts[key] ?? "route";
    list.push({ name: `${kind} ${key}`, bytes: total(scripts(new Set(beyond))), budget: budgets[kind] });
  }
  const styles = new Set(Object.values(manifest).flatMap((chunk) => chunk.css ?? []));
  list.push({ name: "css", bytes: total([...styles]), budget: budgets.css });
  return list;
}

export function overBudget(measured) {
  return measured.filter((m) => m.budget && m.bytes > m.budget);
}

// reachable is a chunk with all that it imports before it runs.
function reachable(manifest, key, found = new Set()) {
  if (!key || found.has(key)) return found;
  found.add(key);
  for (const next of manifest[key].imports ?? []) reachable(manifest, next, found);
  return found;
}
