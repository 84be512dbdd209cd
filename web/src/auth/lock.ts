// One tab at a time. Web Locks do it where they exist; plain HTTP off localhost has
// none, and there a lease in localStorage stands in.

const leaseLife = 5000; // a tab that dies holds others up for this long at most
const settle = 60; // two tabs that write at once see who was last

/** withLock runs the action while no other tab runs one of the same name. */
export async function withLock<T>(name: string, action: () => Promise<T>): Promise<T> {
  if (navigator.locks) return navigator.locks.request(name, action);
  const release = await takeLease(name);
  try {
    return await action();
  } finally {
    release();
  }
}

let alone: Promise<boolean> | undefined;

/** isAlone reports whether no other tab was open when this one began; false where the browser cannot tell. */
export function isAlone(): Promise<boolean> {
  alone ??= navigator.locks ? lookForTabs(navigator.locks) : Promise.resolve(false);
  return alone;
}

// Every tab holds a share of one lock for as long as it is open.
async function lookForTabs(locks: LockManager): Promise<boolean> {
  const name = "writ.tab";
  const { held = [] } = await locks.query();
  void locks.request(name, { mode: "shared" }, () => new Promise<never>(() => {}));
  return !held.some((lock) => lock.name === name);
}

/** lead calls back when this tab becomes the one that leads, until the signal ends it. */
export function lead(name: string, signal: AbortSignal, begin: () => () => void): void {
  const hold = (until: AbortSignal) =>
    new Promise<void>((done) => {
      const end = begin();
      const stop = () => {
        end();
        done();
      };
      if (until.aborted) stop();
      else until.addEventListener("abort", stop, { once: true });
    });
  const run = navigator.locks
    ? navigator.locks.request(name, { signal }, () => hold(signal))
    : leadByLease(name, signal, hold);
  run.catch(() => {}); // the signal ends a wait with an error
}

// A browser slows down the timers of a hidden tab: its lease may end, and another tab
// leads. It must not go on beside that one.
async function leadByLease(name: string, signal: AbortSignal, hold: (lost: AbortSignal) => Promise<void>) {
  while (!signal.aborted) {
    const lost = new AbortController();
    const release = await takeLease(name, signal, () => lost.abort());
    try {
      await hold(AbortSignal.any([signal, lost.signal]));
    } finally {
      release();
    }
  }
}

interface Lease {
  holder: string;
  until: number;
}

const self = Math.random().toString(36).slice(2);

function readLease(key: string): Lease | undefined {
  try {
    const lease = JSON.parse(localStorage.getItem(key) ?? "null") as Lease | null;
    return lease && lease.until > Date.now() ? lease : undefined;
  } catch {
    return undefined;
  }
}

/**
 * takeLease waits for the lease, renews it until it is released, and gives the release. If another tab took it
 * meanwhile, onLost is called and nothing is renewed any more.
 */
export async function takeLease(name: string, signal?: AbortSignal, onLost?: () => void): Promise<() => void> {
  const key = `writ.lease.${name}`;
  const holder = `${self}.${Math.random().toString(36).slice(2)}`;
  const write = () => localStorage.setItem(key, JSON.stringify({ holder, until: Date.now() + leaseLife }));
  for (;;) {
    signal?.throwIfAborted();
    if (!readLease(key)) {
      write();
      await sleep(settle + Math.random() * settle);
      if (readLease(key)?.holder === holder) break;
    }
    await sleep(settle + Math.random() * settle);
  }
  const renew = setInterval(() => {
    const current = readLease(key);
    if (!current || current.holder === holder) return write();
    clearInterval(renew);
    onLost?.();
  }, leaseLife / 3);
  return () => {
    clearInterval(renew);
    if (readLease(key)?.holder === holder) localStorage.removeItem(key);
  };
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
