// Who opened what stands above the page: the focus goes back there when it closes.
import { useRef } from "react";

const openers = new WeakMap<Element, HTMLElement[]>();

// What has the focus now, and what opened the dialog or menu that it is in: that is gone when one follows the other.
function openersNow(): HTMLElement[] {
  const now = document.activeElement;
  if (!(now instanceof HTMLElement) || now === document.body) return [];
  const around = openers.get(now.closest('[role="dialog"]') ?? now) ?? [];
  const menu = now.closest('[role="menu"]')?.getAttribute("aria-labelledby");
  const button = menu ? document.getElementById(menu) : null;
  return [now, ...(button ? [button] : []), ...around];
}

/** useGiveBack is what the content of a dialog needs to give the focus back to what opened it. */
export function useGiveBack(open: boolean) {
  const by = useRef<HTMLElement[]>([]);
  const was = useRef(false);
  // While it renders: afterwards the dialog that this one follows is gone, and the focus with it.
  if (open && !was.current) by.current = openersNow();
  was.current = open;
  return {
    ref: (element: HTMLElement | null) => void (element && openers.set(element, by.current)),
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      // Another dialog may have followed, or a screen have taken the focus.
      if (document.activeElement !== document.body) return;
      const back = by.current.find((element) => element.isConnected) ?? document.getElementById("content");
      back?.focus();
    },
  };
}
