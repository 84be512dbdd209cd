import { Writ } from "@writ/client";

// A tool as libraries call it: with its arguments, and beside them with what the library gives.
async function forecast(day: { city: string; date: string }, { signal }: { signal: AbortSignal }) {
  signal.throwIfAborted();
  return `sun in ${day.city}, ${new Date(day.date).toUTCString().slice(0, 16)}`;
}

const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "traveller" });
const plan = await writ.declare(
  { goal: "plan a trip", steps: [{ mcp: "weather", action: "forecast" }] },
  { expiresIn: 3600 }, // seconds; without it a plan lives five minutes
);

// The arguments are judged, as JSON. What the tool needs beside them comes from the function around it.
const execute = (args: { city: string; date: string }, options: { signal: AbortSignal }) =>
  plan.guard("weather.forecast", (judged: typeof args) => forecast(judged, options), {
    onDenied: (denied) => `not done: ${denied.message}`,
  })(args);

const options = { signal: AbortSignal.timeout(60_000) };
for (const city of ["Lisbon", "Atlantis"]) console.log(await execute({ city, date: "2030-05-01" }, options));
