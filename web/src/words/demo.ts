/** Words of the demo. */
export const demo = {
  label: "Demo",
  bar: "Demo data. Nothing here is real.",
  close: "Close the demo",
  closed: "The demo is closed. You can make it again at any time.",
  make: "Look around with demo data",
  making: "Making a week of data…",
  open: "Open the demo",
};
