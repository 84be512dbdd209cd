const key = "writ.next";

/** safeNext is an address of ours to go on to; anything else leads to the overview. */
export function safeNext(next: string | undefined): string {
  if (!next?.startsWith("/") || /^\/[/\\]/.test(next) || /[\u0000-\u001f\\]/.test(next)) return "/";
  return next;
}

/** keepNext remembers where to go on, while a person signs in elsewhere. */
export function keepNext(next: string | undefined): void {
  try {
    if (next) sessionStorage.setItem(key, next);
    else sessionStorage.removeItem(key);
  } catch {
    // They land on the overview.
  }
}

/** takeNext is what keepNext remembered. */
export function takeNext(): string | undefined {
  try {
    const next = sessionStorage.getItem(key) ?? undefined;
    sessionStorage.removeItem(key);
    return next;
  } catch {
    return undefined;
  }
}
