import { Link, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useMay, useMe, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { IdChip } from "../../ui/CopyButton";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { MakeKey, RevokeKey, RotateKey } from "./keyDialogs";
import { SettingsPage } from "./parts";
import { type Key, keysQuery } from "./queries";

const w = words.settings;

type Doing = { act: "make" } | { act: "rotate" | "revoke"; key: Key };

/** Keys lists the API keys of agents and terminals. */
export function Keys() {
  const org = useOrg();
  const me = useMe();
  const refused = useMay("keys.own");
  const managed = useMay("keys.manage");
  const [doing, setDoing] = useState<Doing>();
  const { key: one } = useSearch({ from: "/frame/settings/keys" });
  const { table } = useList({ ...keysQuery(org.id, one), enabled: refused === undefined });
  const columns = useMemo(() => columnsOf(me.user.id, managed, setDoing), [me.user.id, managed]);
  const make = (
    <Button look="primary" refused={refused} onClick={() => setDoing({ act: "make" })}>
      {w.makeKey}
    </Button>
  );
  const close = () => setDoing(undefined);
  return (
    <SettingsPage tab="keys" fill needs="keys.own" acts={make}>
      {one && (
        <p className="row">
          <span className="muted">{w.oneKey}</span>
          <Link to="/settings/keys">{w.allKeys}</Link>
        </p>
      )}
      <Table
        {...table}
        label={w.tabs.keys}
        columns={columns}
        rowKey={(k) => k.id}
        card={(k) => <Card k={k} act={columns.at(-1)?.cell(k)} />}
        empty={
          one ? (
            <Empty title={w.noSuchKey}>{w.noSuchKeyHelp}</Empty>
          ) : (
            <Empty title={w.noKeys} action={make}>
              {w.noKeysHelp}
            </Empty>
          )
        }
      />
      {doing?.act === "make" && <MakeKey onClose={close} />}
      {doing?.act === "rotate" && <RotateKey old={doing.key} onClose={close} />}
      {doing?.act === "revoke" && (
        <RevokeKey old={doing.key} alike={table.rows.some((k) => isAlike(k, doing.key))} onClose={close} />
      )}
    </SettingsPage>
  );
}

/** Keys of terminals are named by the day: several have one name. */
const isAlike = (k: Key, other: Key) => k.id !== other.id && k.name === other.name && k.status === "active";

/** A key that the kill switch has stopped is valid, and nothing is allowed to it. */
const statusOf = (k: Key) => {
  const status = k.stopped && k.status === "active" ? "stopped" : k.status;
  return <StatusBadge word={w.keyStatus[status] ?? status} error={status !== "active"} />;
};
const environmentOf = (k: Key) => w.environments[k.environment] ?? k.environment;

// The first letters of a key tell its environment: there is no room for one column more.
const prefixOf = (k: Key) =>
  k.hidden ? <span title={w.hiddenHelp}>{w.hidden}</span> : <code title={environmentOf(k)}>{k.prefix}…</code>;
const scopesOf = (k: Key) => k.scopes.join(", ");

function columnsOf(me: string, managed: string | undefined, onDo: (doing: Doing) => void): Column<Key>[] {
  return [
    {
      id: "name",
      head: w.keyColumns.name,
      width: "minmax(104px, 1fr)",
      cell: (k) => <AgentText text={k.name} line />,
    },
    { id: "owner", head: w.keyColumns.owner, width: "minmax(84px, 0.7fr)", cell: (k) => <Person id={k.ownerId} /> },
    { id: "prefix", head: w.keyColumns.prefix, width: "128px", cell: prefixOf },
    { id: "id", head: w.keyColumns.id, width: "118px", cell: (k) => <IdChip id={k.id} /> },
    { id: "status", head: w.keyColumns.status, width: "92px", cell: statusOf },
    {
      id: "scopes",
      head: w.keyColumns.scopes,
      width: "minmax(64px, 1fr)",
      cell: (k) => (
        <span className="one-line" title={k.scopes.map((s) => words.auth.scopes[s] ?? s).join("\n")}>
          {scopesOf(k)}
        </span>
      ),
    },
    {
      id: "used",
      head: w.keyColumns.used,
      width: "68px",
      cell: (k) => (k.lastUsedAt ? <Time at={k.lastUsedAt} /> : w.never),
    },
    {
      id: "expires",
      head: w.keyColumns.expires,
      width: "84px",
      cell: (k) => (k.expiresAt ? <Time at={k.expiresAt} form="absolute" /> : w.never),
    },
    {
      id: "act",
      head: w.keyColumns.act,
      width: "128px",
      cell: (k) => {
        if (k.status !== "active") return "";
        const refused = k.ownerId === me ? undefined : managed;
        return (
          <span className="row end">
            {!k.hidden && (
              <Button look="quiet" refused={refused} onClick={() => onDo({ act: "rotate", key: k })}>
                {w.rotate}
              </Button>
            )}
            <Button look="quiet" refused={refused} onClick={() => onDo({ act: "revoke", key: k })}>
              {w.revoke}
            </Button>
          </span>
        );
      },
    },
  ];
}

function Card({ k, act }: { k: Key; act: React.ReactNode }) {
  return (
    <div className="stack tight">
      <div className="row">
        <span className="grow">
          <AgentText text={k.name} line />
        </span>
        {statusOf(k)}
      </div>
      <span className="small muted">
        {prefixOf(k)} {scopesOf(k)}
      </span>
      <span className="small row">
        <Person id={k.ownerId} /> <IdChip id={k.id} /> {environmentOf(k)}
      </span>
      {act}
    </div>
  );
}
