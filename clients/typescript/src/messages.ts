// What is said to the server and by it, as its OpenAPI document has it.
import type { components } from "./api.js";

type Schemas = components["schemas"];

/** Token proves a declared plan, and goes with every call. */
export type Token = Schemas["TokenBody"];
/** Decision is the answer about a call. */
export type Decision = Schemas["SDKDecisionBody"];
/** Approval is a request that waits for a person, or was answered. */
export type Approval = Schemas["DelegationBody"];
/** Reported is what the server made of a report. */
export type Reported = Schemas["ExecutionReportedBody"];
export type DeclareBody = Schemas["MintInputBody"];

/** CallBody is a call as it is sent: the document calls the token an object of any members. */
export type CallBody = Omit<Schemas["SDKCallBody"], "intent_token"> & { intent_token: Token };

/** ReportBody is a report as it is sent; input and output may be any JSON. */
export type ReportBody = Omit<Schemas["ExecutionBody"], "input" | "output"> & { input?: unknown; output?: unknown };

/** Step is one tool of a plan. The params that it gives are fixed; all others are free. */
export interface Step {
  action: string;
  mcp?: string;
  params?: Record<string, unknown>;
  /** The call has no other arguments than params. */
  strict?: boolean;
  max_calls?: number;
  description?: string;
}

/** PlanText is what an agent says that it will do. */
export interface PlanText {
  goal: string;
  steps: Step[];
  /** Steps are used in their order, and none is left out. */
  ordered?: boolean;
}

/** Call is a call of a tool: its server (absent: that of the plan's step), its name and its arguments. */
export interface Call {
  server?: string;
  tool: string;
  arguments: Record<string, unknown>;
}

/** Report is what came of a call. */
export interface Report extends Call {
  status: "success" | "failed";
  output?: unknown;
  error?: string;
  /** How long the call took, in milliseconds. */
  durationMs?: number;
  step?: number;
}
