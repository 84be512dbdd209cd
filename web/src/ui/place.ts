// Where somebody was in something long, by the entry of the browser's history: who comes back stands where they left.
interface Place {
  offset: number;
  /** The row that was opened. */
  row?: number | undefined;
}

const places = new Map<string, Place>();
const most = 100;

// The router names every entry of the history, and keeps the name when somebody comes back to it.
function keyOf(what: string): string | undefined {
  const key = (history.state as { __TSR_key?: unknown } | null)?.__TSR_key;
  return typeof key === "string" ? `${key} ${what}` : undefined;
}

/** Kept is a place that somebody may come back to. */
export interface Kept {
  /** Where they were in this entry of the history; undefined: it is new. */
  came: Place | undefined;
  keep: (place: Place) => void;
}

/** keptPlace is for something long that is shown now. It lasts as long as the page lives. */
export function keptPlace(what: string): Kept {
  const path = location.pathname;
  const key = keyOf(what);
  return {
    came: key === undefined ? undefined : places.get(key),
    // A slow link has its entry already while what it leaves is still shown.
    keep: (place) => location.pathname === path && keep(keyOf(what), place),
  };
}

function keep(key: string | undefined, place: Place): void {
  if (key === undefined) return;
  places.delete(key);
  places.set(key, place);
  const oldest = places.keys().next().value;
  if (places.size > most && oldest !== undefined) places.delete(oldest);
}
