import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog } from "../../app/act/ActDialog";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button, Choice, Field } from "../../ui/Button";
import { servers as w } from "../../words/servers";
import { type Auth, authOf } from "./auth";
import { type Server, useAgain } from "./queries";

/** Register is the way to register an MCP server that has an address. */
export function Register() {
  const refused = useMay("servers.manage");
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" refused={refused} onClick={() => setOpen(true)}>
        {w.register}
      </Button>
      {open && <RegisterDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const transports = ["http", "sse"] as const;
const kinds = ["none", "bearer", "api_key", "oauth"] as const satisfies Auth["type"][];

const fresh = {
  name: "",
  url: "",
  description: "",
  transport: "http" as (typeof transports)[number],
  auth: "none" as Auth["type"],
  secret: "",
  header: "",
};
type Filled = typeof fresh;

const takesSecret = (auth: Auth["type"]) => auth === "bearer" || auth === "api_key";

function missingOf({ name, url, auth, secret }: Filled): string | undefined {
  if (!name.trim()) return w.nameFirst;
  if (!/^https?:\/\/./.test(url.trim())) return w.addressFirst;
  return takesSecret(auth) && !secret ? w.secretFirst : undefined;
}

function RegisterDialog({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const [filled, setFilled] = useState(fresh);
  const query = { organizationId: org.id };
  const name = filled.name.trim();
  const look = async () => (await api.get("/mcp/servers", { params: { query } })).servers.find((s) => s.name === name);
  return (
    <ActDialog<Server>
      title={w.registerTitle}
      doneTitle={w.registeredTitle}
      act={w.registerAct}
      missing={missingOf(filled)}
      onClose={onClose}
      onSettled={useAgain()}
      send={() =>
        api.post("/mcp/register", {
          params: { query },
          body: {
            name,
            url: filled.url.trim(),
            transport: filled.transport,
            auth: authOf(filled),
            ...(filled.description.trim() ? { description: filled.description.trim() } : {}),
          },
        })
      }
      look={look}
      done={(made) => <Made server={made} />}
    >
      <p className="muted">{w.registerMeans}</p>
      <Fields filled={filled} change={(part) => setFilled({ ...filled, ...part })} />
    </ActDialog>
  );
}

function Made({ server }: { server: Server }) {
  return (
    <p>
      <Link to="/servers/$id" params={{ id: server.mcpId }}>
        <AgentText text={server.name} short />
      </Link>{" "}
      {w.madeMeans}
    </p>
  );
}

function Fields({ filled: f, change }: { filled: Filled; change: (part: Partial<Filled>) => void }) {
  return (
    <>
      <Field
        label={w.name}
        hint={w.nameHint}
        maxLength={200}
        value={f.name}
        onChange={(e) => change({ name: e.target.value })}
      />
      <Field
        label={w.address}
        type="url"
        placeholder="https://mcp.example.org/mcp"
        maxLength={2048}
        value={f.url}
        onChange={(e) => change({ url: e.target.value })}
      />
      <Choice
        label={w.transport}
        value={f.transport}
        onChange={(transport) => change({ transport })}
        options={transports.map((t) => [t, w.transports[t] ?? t] as const)}
      />
      <Choice
        label={w.auth}
        value={f.auth}
        onChange={(auth) => change({ auth, secret: "" })}
        options={kinds.map((k) => [k, w.auths[k]] as const)}
      />
      {takesSecret(f.auth) && (
        <Field
          label={w.secret}
          hint={w.secretHint}
          type="password"
          autoComplete="off"
          maxLength={8192}
          value={f.secret}
          onChange={(e) => change({ secret: e.target.value })}
        />
      )}
      {f.auth === "api_key" && (
        <Field
          label={w.header}
          placeholder="X-API-Key"
          maxLength={100}
          value={f.header}
          onChange={(e) => change({ header: e.target.value })}
        />
      )}
      <Field
        label={w.description}
        maxLength={1000}
        value={f.description}
        onChange={(e) => change({ description: e.target.value })}
      />
    </>
  );
}
