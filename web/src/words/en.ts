// Every sentence of the dashboard. Each area has a file of its own; add it here.
import { audit, proof } from "./audit";
import { auth } from "./auth";
import { connection } from "./connection";
import { consent } from "./consent";
import { demo } from "./demo";
import { findings } from "./findings";
import { inbox } from "./inbox";
import { me } from "./me";
import { overview } from "./overview";
import { plans } from "./plans";
import { sessions } from "./sessions";
import { settings } from "./settings";
import { shell } from "./shell";
import { start } from "./start";
import { span, traces } from "./traces";
import { errors, ranges, ui, verdictWords } from "./ui";
import { usage } from "./usage";
import { waterfall } from "./waterfall";

export const words = {
  ui,
  errors,
  ranges,
  verdicts: verdictWords,
  shell,
  audit,
  auth,
  connection,
  consent,
  demo,
  findings,
  inbox,
  me,
  overview,
  plans,
  proof,
  sessions,
  span,
  settings,
  start,
  traces,
  usage,
  waterfall,
};
