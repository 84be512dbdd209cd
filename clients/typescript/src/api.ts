// Written by npm run generate from the server's OpenAPI document. Do not change it by hand.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ApproversBody: {
            /** Format: int64 */
            count: number;
            /** @enum {string} */
            role: "owner" | "admin" | "approver";
        } & {
            [key: string]: unknown;
        };
        ClientInfoBody: {
            /** @description The agent, else the key. */
            clientId: string;
            clientName: string;
            /** Format: uuid */
            orgId: string;
        } & {
            [key: string]: unknown;
        };
        ConfineBody: {
            /** @description The hosts that it may reach, each as HOST:PORT. Absent: none. */
            net?: string[];
            /** @description The directories that stay read-only where they lie inside those of write, because one of several rules lets it only read them. */
            protect?: string[];
            /** @description The directories that it may read, beside those and the system's own. */
            read?: string[];
            /** @description The directories that it may change: absolute, or beginning with workspace (the one that the caller works in) or ~. Absent: none. */
            write?: string[];
        } & {
            [key: string]: unknown;
        };
        ConfinedBody: {
            /** @description The limits that the kernel held. */
            held?: ("write" | "read" | "net")[];
            /** @description Each HOST:PORT; also the word none. */
            net?: string[];
            protect?: string[];
            read?: string[];
            write?: string[];
        } & {
            [key: string]: unknown;
        };
        DeclaredPlanBody: {
            /** @description What the person wants. */
            goal?: string;
            /** @description Tools that may be needed beside those of the steps. */
            may?: string[];
            /** @description Whether steps are used in their order. */
            ordered?: boolean;
            /** @description Who wrote it. */
            source?: string;
            /** @description The tools that the agent will call, at most 500. */
            steps: components["schemas"]["DeclaredStepBody"][];
        } & {
            [key: string]: unknown;
        };
        DeclaredStepBody: {
            /** @description tool, in their words. */
            action?: string;
            /** @description The arguments that the plan fixes; also as params, inputs or tool_input. Others are free, unless the step is strict. */
            arguments?: {
                [key: string]: unknown;
            };
            description?: string;
            /**
             * Format: int64
             * @description How often it may be used. Absent: any number of times.
             */
            max_calls?: number;
            /** @description server, in the words of published clients. */
            mcp?: string;
            /** @description arguments, in their words. */
            params?: {
                [key: string]: unknown;
            };
            /** @description The MCP server; also as mcp. Absent: that of a server in front of the tool's name, else none. */
            server?: string;
            /** @description Whether other arguments are refused. */
            strict?: boolean;
            /** @description The tool; also as action or tool_name. */
            tool?: string;
        } & {
            [key: string]: unknown;
        };
        DelegationBody: {
            /**
             * Format: uuid
             * @description Of the request.
             */
            approvalId: string;
            /**
             * Format: date-time
             * @description Null: nobody has answered.
             */
            decidedAt: string | null;
            /**
             * Format: uuid
             * @description Of the request, for published clients; approvalId is the same.
             */
            delegationId: string;
            /** @description The approver changed the arguments to these: only a call with them is approved. */
            editedArguments?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the client reported that it made the call; null: it has not.
             */
            executedAt: string | null;
            /**
             * Format: date-time
             * @description When a pending request expires; until then a rejection is final.
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @description When the grant for this call expires; null: there is none, or a standing approval.
             */
            grantExpiresAt: string | null;
            /**
             * @description hold: an approver answers; ask: the person the agent works for.
             * @enum {string}
             */
            kind: "hold" | "ask";
            /** @description Written by the person who answered. */
            note?: string;
            server: string;
            /**
             * @description approved: call again with the same arguments, and the call may run once.
             * @enum {string}
             */
            status: "pending" | "approved" | "rejected" | "cancelled" | "expired";
            tool: string;
            /** @description Whether the grant was used. */
            used: boolean;
            /** @description The kill switch has stopped its agent or key since: a pending request is cancelled, and an approval permits nothing any more. */
            withdrawn?: boolean;
        } & {
            [key: string]: unknown;
        };
        ExecutionBody: {
            action?: string;
            agent_id?: string;
            /** @description What the client found wrong with the call: other_arguments (the host executed others than were decided, a finding) or no_decision. */
            alarm?: string;
            at?: string;
            client_id?: string;
            /** @description What the call was confined to. A call that was allowed only confined and does not say, or says more than it was allowed, is a finding. */
            confined?: components["schemas"]["ConfinedBody"];
            /** @description What the call belongs to where there is no session, as in its plan. */
            context_id?: string;
            /** Format: double */
            duration_ms?: number;
            error_message?: string;
            event?: string;
            /**
             * @description When it ran; also as at.
             * @example 2026-11-15T02:07:42.180Z
             */
            executed_at?: string;
            /** @description The arguments; also as tool_input, arguments or params. Secrets are taken out before anything is stored. */
            input?: {
                [key: string]: unknown;
            };
            /** @description The MCP server; also as server. */
            mcp?: string;
            /** @description What came of it, any JSON. */
            output?: {
                [key: string]: unknown;
            };
            plan_id?: string;
            /** @description What the kernel refused to the call, in words; the first 64 are kept. A refusal is a finding. */
            refused?: string[];
            result_summary?: string;
            /**
             * Format: int64
             * @description Where a client numbers its reports, within agent and session, from 0 or 1: a gap is a finding.
             */
            seq?: number;
            session_id?: string;
            source?: string;
            /**
             * @description success, failed or error.
             * @example success
             */
            status?: string;
            /**
             * Format: int64
             * @description -1: no plan.
             */
            step_index?: number;
            /** @description Of the plan: its jwt_token, or the token as an object or as text. The only credential where no API key is sent. */
            token?: string;
            /**
             * @description The tool's name; also as action or tool_name.
             * @example Bash
             */
            tool?: string;
            tool_input?: {
                [key: string]: unknown;
            };
            tool_name?: string;
            user_email?: string;
            user_id?: string;
        } & {
            [key: string]: unknown;
        };
        ExecutionReportedBody: {
            /** @description Id of the execution; empty where the report was not taken. */
            audit_id: string;
            /** @description It was there already. */
            duplicate?: boolean;
            /** @description Why it was not taken. */
            error?: string;
            /**
             * Format: int64
             * @description Number of its entry in the audit log.
             */
            iap_audit_index?: number | null;
            /** @description Leaf hash of that entry, hex; only when it is new. */
            iap_commitment?: string;
            /**
             * @description synced: it is in the audit log, now or since before.
             * @enum {string}
             */
            iap_sync_status: "synced" | "failed";
        } & {
            [key: string]: unknown;
        };
        FixedArgumentBody: {
            name: string;
            /** @description Canonical JSON. */
            value: string;
        } & {
            [key: string]: unknown;
        };
        GuardedSessionBody: {
            /** @description Whether the organization permits hooks to log instead of deny. */
            monitorAllowed: boolean;
            /** Format: int64 */
            turn: number;
        } & {
            [key: string]: unknown;
        };
        MatchedBody: {
            id: string;
            name: string;
            /** Format: int64 */
            version: number;
        } & {
            [key: string]: unknown;
        };
        MintInputBody: {
            /** @description The agent. */
            agent_id?: string | null;
            /** @description With session_ticket: why the plan adds to the earlier ones of its turn, at most 500 bytes. Without it such a plan is refused; with it a person must agree to the calls of what was added. */
            amends?: string | null;
            /** @description What the plan belongs to, in the client's words. */
            context_id?: string | null;
            /**
             * Format: double
             * @description Seconds, rounded up; at most what the organization allows. Absent: ttl_seconds of the manifest that the key registered for the agent, else 300, and 3600 with session_ticket.
             */
            expires_in?: number | null;
            /** @description What the agent will do: goal and steps, each with its server, tool and the arguments it gives. ordered and max_calls limit order and counts. */
            plan: components["schemas"]["DeclaredPlanBody"];
            /** @description The client's own; signed as it is, and never a grant. */
            policy?: {
                [key: string]: unknown;
            } | null;
            /** @description What the user said, from the harness, at most 64 KiB: calls are grounded in it. Prompts of one session add up. Absent: the goal of the plan. */
            prompt?: string | null;
            /** @description The session the plan is for. Calls that state another are refused. */
            session_id?: string | null;
            /** @description For a plan of a guarded session: what POST /iap/session/ticket answered. The session and agent are the ticket's. */
            session_ticket?: string | null;
            /** @description The member the agent works for. */
            user_email?: string | null;
            /** @description Whom the agent works for; an id or an e-mail. */
            user_id?: string | null;
        } & {
            [key: string]: unknown;
        };
        ObligeBody: {
            /** @description Labels that are told with the result. */
            labels?: string[];
            /**
             * Format: int64
             * @description How large the result may be, as JSON. Absent: as large as any.
             */
            max_bytes?: number;
            /** @description Members whose values are left out: NAME, or OUTER.NAME for one directly within another; a star is any name. */
            redact?: string[];
        } & {
            [key: string]: unknown;
        };
        PlanBody: {
            agentId: string;
            /**
             * Format: int64
             * @description The entry that declared it in the organization's log; null: there is none.
             */
            auditIndex: number | null;
            contextId: string;
            /** Format: date-time */
            createdAt: string;
            /** @description Of a delegation, the agent that alone may use it; empty: none is named. */
            delegatedTo: string;
            /**
             * Format: date-time
             * @description Null: nobody ended it.
             */
            endedAt: string | null;
            /**
             * @description What ended it before its time; empty: its end, its client, a report that does not fit it, or nothing.
             * @enum {string}
             */
            endedBy: "" | "revocation" | "kill";
            /** Format: date-time */
            expiresAt: string;
            /** @description Redacted; empty for callers who may not read payloads, and where it was erased. */
            goal: string;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            issuedAt: string;
            /**
             * Format: uuid
             * @description The API key that declared it.
             */
            keyId: string;
            /** @description Whether steps are used in their order. */
            ordered: boolean;
            /** Format: uuid */
            organizationId: string;
            /** @description The plan under which a plugin's own was let through; null: none. */
            parentId: string | null;
            /** @description As the client wrote it, redacted; null for callers who may not read payloads, and where it was erased. */
            plan: {
                [key: string]: unknown;
            } | null;
            /** @description Root of its Merkle tree, hex. */
            planHash: string;
            sessionId: string;
            /** @description Who wrote it, in the client's words. */
            source: string;
            /** @enum {string} */
            status: "active" | "completed" | "failed" | "expired";
            /** Format: int64 */
            stepCount: number;
            /** @description The steps as they are judged, redacted; empty where plan is null. */
            steps: components["schemas"]["PlanStepBody"][];
            userEmail: string;
            userId: string;
            /** @description How often steps were used that the plan limits. */
            uses: components["schemas"]["StepUseBody"][];
        } & {
            [key: string]: unknown;
        };
        PlanStatusInputBody: {
            /** @enum {string} */
            status: "active" | "completed" | "failed" | "expired";
        } & {
            [key: string]: unknown;
        };
        PlanStepBody: {
            /** @description The tool's name as the client wrote it. */
            action: string;
            description: string;
            /** @description Arguments that the plan gives. */
            fixed: components["schemas"]["FixedArgumentBody"][];
            /**
             * Format: int64
             * @description How often it may be used; 0: any number of times.
             */
            maxCalls: number;
            server: string;
            /**
             * Format: int64
             * @description From 0.
             */
            step: number;
            /** @description Whether other arguments are refused. */
            strict: boolean;
            tool: string;
        } & {
            [key: string]: unknown;
        };
        PresentedTokenBody: {
            jwt_token?: string;
            plan_hash?: string;
            plan_id?: string;
            signature?: string;
            token?: components["schemas"]["SignedTokenBody"];
        } & {
            [key: string]: unknown;
        };
        Reason: {
            /** @description The argument's name. */
            argument: string;
            /** @description The tool that returned it. */
            of?: string;
            /** @description Whether the text orders to use it. */
            ordered?: boolean;
            /** @description Where its value stands: text (only in running text), echo (only in an output that gives back what was asked), copy (prose: a part of a text), link (prose: a link from a text), nowhere. */
            origin: string;
        } & {
            [key: string]: unknown;
        };
        Receipt: {
            /** @description Signed checkpoint, c2sp.org/tlog-checkpoint. */
            checkpoint: string;
            /**
             * Format: int64
             * @description The log's epoch at the checkpoint.
             */
            epoch: number;
            /**
             * Format: int64
             * @description Number of the entry, from 0.
             */
            index: number;
            /** @description RFC 6962 leaf hash of the entry's record, base64. */
            leaf: string;
            /** @description Organization id, or system. */
            log: string;
            /** @description Inclusion proof, RFC 6962 section 2.1.1, from the leaf up. */
            proof: string[] | null;
        } & {
            [key: string]: unknown;
        };
        SDKCallBody: {
            agent_id?: string;
            /** @description The arguments of the call; also as params or tool_input. */
            arguments?: {
                [key: string]: unknown;
            };
            /** @description What the caller can do with an answer: confine, if it keeps what confine of an allow says; oblige, if it keeps what oblige says. Others mean nothing. */
            capabilities?: string[] | null;
            context_id?: string;
            /** @description What POST /iap/sdk/token answered, or its token, or its jwt_token. Without one the call is denied. The copy of the plan in it is not read. */
            intent_token: components["schemas"]["PresentedTokenBody"];
            /** @description Labels of what the arguments carry. */
            labels?: string[] | null;
            /** @description server, in the words of published clients. */
            mcp?: string;
            /** @description What paths in the arguments really are where the agent runs. */
            resolvedPaths?: {
                [key: string]: string;
            };
            /** @description The MCP server; also as mcp, or in mcp_context. Absent: that of the plan's step, or of the server in front of the tool's name. */
            server?: string;
            session_id?: string;
            /**
             * Format: int64
             * @description The turn of a guarded session that the caller knows. In another one the call is denied.
             */
            session_turn?: number;
            /** @description The tool's name, as the plan has it; also as action or tool_name. */
            tool: string;
            /** @description The member the agent works for. */
            user_email?: string;
            user_id?: string;
        } & {
            [key: string]: unknown;
        };
        SDKDecisionBody: {
            /**
             * @description The decision in the words of plugins.
             * @enum {string}
             */
            action: "allow" | "deny" | "hold";
            /** @description Whether the tool may run: true only with an allow that is recorded. */
            allowed: boolean;
            /** @description The approval this waits for, or that let the call run. */
            approvalId?: string;
            /** @description Who must say yes, where the rule says. */
            approvers?: components["schemas"]["ApproversBody"];
            /** @description With allow: the call may run only confined to this; {} permits least. Only callers that state the capability confine get it. */
            confine?: components["schemas"]["ConfineBody"];
            /** @description The id of the policy that decided, or what did instead: writ:agent, writ:intent, writ:approval, writ:default. */
            decidedBy?: string;
            /**
             * @description The decision itself. hold: an approver must say yes; ask: the person the agent works for.
             * @enum {string}
             */
            decision: "allow" | "deny" | "hold" | "ask";
            /** @description The record of this decision. Absent: it could not be recorded, and is a deny. */
            decisionId?: string;
            /**
             * @description The decision in the words of SDKs.
             * @enum {string}
             */
            enforcementAction: "allow" | "block" | "hold";
            /** @description The arguments in doubt, and why, without their values. With grounding: ask the call is then held. */
            grounding?: components["schemas"]["Reason"][] | null;
            /** @description The policy that decided; null: none did. */
            matchedPolicy: components["schemas"]["MatchedBody"] | null;
            /** @description The rule's own words. */
            message?: string;
            /** @description With allow: what must be done with the result. Only callers that state the capability oblige get it. */
            oblige?: components["schemas"]["ObligeBody"];
            /** @description The plan the call was judged by. */
            planId?: string;
            /** @description One sentence that a model can act on. */
            reason: string;
            /** @description Proves that the decision is in the organization's log. */
            receipt?: components["schemas"]["Receipt"];
            /** @description The rule that decided; default where none matched. */
            rule?: string;
            /** @description The MCP server the call was judged for. */
            server?: string;
            /** @description Of calls in a guarded session. */
            session?: components["schemas"]["GuardedSessionBody"];
            /**
             * Format: int64
             * @description The step of the plan, from 0.
             */
            step?: number;
        } & {
            [key: string]: unknown;
        };
        Sibling: {
            position: string;
            sibling_hash: string;
        } & {
            [key: string]: unknown;
        };
        SignedTokenBody: {
            /**
             * Format: int64
             * @description Unix seconds.
             */
            expires_at: number;
            identity: string;
            /**
             * Format: int64
             * @description Unix seconds.
             */
            issued_at: number;
            plan_hash: string;
            policy: {
                [key: string]: unknown;
            };
            /** @description Hex. */
            public_key: string;
            /** @description Hex. */
            signature: string;
            version: string;
        } & {
            [key: string]: unknown;
        };
        SnapshotEntry: {
            defaultEnforcementAction: string;
            policyName: string;
            rules: components["schemas"]["SnapshotRules"];
            targetName: string;
        } & {
            [key: string]: unknown;
        };
        SnapshotRules: {
            allowedTools: string[] | null;
        } & {
            [key: string]: unknown;
        };
        StepUseBody: {
            /**
             * Format: int64
             * @description From 0.
             */
            step: number;
            /** Format: int64 */
            uses: number;
        } & {
            [key: string]: unknown;
        };
        TokenBody: {
            /** @description The tools that the plan adds to the earlier ones of its turn: a person must agree to their calls. */
            added?: string[] | null;
            client_info: components["schemas"]["ClientInfoBody"];
            /** @description Hash over whom the plan is bound to, hex. */
            composite_identity: string;
            intent_reference: string;
            /** @description Names the plan where there is no room for the token. */
            jwt_token: string;
            /** @description The same. */
            merkle_root: string;
            message: string;
            /** @description Root of the plan's Merkle tree, hex. */
            plan_hash: string;
            /** Format: uuid */
            plan_id: string;
            /** @description The same by server. */
            policy_snapshot: components["schemas"]["SnapshotEntry"][];
            /** @description Which tools of the plan every call of would be allowed now. Calls are decided one by one all the same. */
            policy_validation: components["schemas"]["Validation"];
            /** @description For each step, the proof of its action. */
            step_proofs: (components["schemas"]["Sibling"][] | null)[];
            /** @description True. */
            success: boolean;
            token: components["schemas"]["SignedTokenBody"];
            /** @description What in the plan and beside it is probably not meant so, such as a misspelled member of a step: it fixes nothing. */
            warnings?: string[] | null;
        } & {
            [key: string]: unknown;
        };
        Validation: {
            allowed_tools: string[] | null;
            default_enforcement_action: string;
            denied_reasons: string[] | null;
            denied_tools: string[] | null;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
