import { lazyRouteComponent } from "@tanstack/react-router";
import { toast } from "../ui/Toast";
import { words } from "../words/en";

const pause = 2000;
let away: Promise<void> | undefined;

/** answers reports whether the server answers, and not a proxy in its place. */
export async function answers(): Promise<boolean> {
  try {
    return (await fetch("/health", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

async function wait(): Promise<void> {
  toast(words.shell.opensLater, { error: true });
  do await new Promise((done) => setTimeout(done, pause));
  while (!(await answers()));
  away = undefined;
}

/**
 * patiently loads a file of the dashboard. While the server is away it waits: the router would load the whole page again,
 * and lose it to the browser's own page of errors. What fails although the server answers is of an older build.
 */
export async function patiently<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await answers()) throw error;
    away ??= wait();
    await away;
    return load();
  }
}

/** lazyScreen is a screen that loads when it is first opened. */
export const lazyScreen: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => patiently(load), name);
