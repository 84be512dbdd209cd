// Settings that this browser keeps. A browser without storage only does not keep them.

const storage = (tab: boolean): Storage => (tab ? sessionStorage : localStorage);

/** readStored is a setting, of this tab alone if tab is set; undefined: there is none. */
export function readStored(key: string, tab = false): string | undefined {
  try {
    return storage(tab).getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** store keeps a setting; undefined removes it. */
export function store(key: string, value: string | undefined, tab = false): void {
  try {
    if (value === undefined) storage(tab).removeItem(key);
    else storage(tab).setItem(key, value);
  } catch {
    // It is only not kept.
  }
}
