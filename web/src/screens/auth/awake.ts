import { useEffect, useState } from "react";

const readingTime = 1000;

/** useAwake is true once the page was in view and in front for a moment: a click that was meant for another page does nothing. */
export function useAwake(): boolean {
  const [awake, setAwake] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      setAwake(false);
      if (document.visibilityState === "visible" && document.hasFocus())
        timer = setTimeout(() => setAwake(true), readingTime);
    };
    look();
    for (const kind of ["focus", "blur"]) addEventListener(kind, look);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      for (const kind of ["focus", "blur"]) removeEventListener(kind, look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return awake;
}
