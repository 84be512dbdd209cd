/** Words of the demo. */
export const demo = {
  label: "Demo",
  bar: "Demo data. Nothing here is real.",
  close: "Close the demo",
  closeTitle: "Close the demo?",
  closeHelp: "You cannot open it again, and what you changed in it goes with it. You can make a new one at any time.",
  closed: "The demo is closed.",
  make: "Look around with demo data",
  making: "Making a week of data…",
  open: "Open the demo",
};
