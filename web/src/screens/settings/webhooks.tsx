import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useOrg } from "../../app/org";
import { useNeighbours } from "../../app/shell/neighbours";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { Loaded, SettingsPage } from "./parts";
import { type Hook, webhooksQuery } from "./queries";
import { AddWebhook } from "./webhookDialogs";

const w = words.settings;

const none: Hook[] = [];
const idOf = (hook: Hook) => hook.id;

/** Webhooks lists where events are sent. */
export function Webhooks() {
  const org = useOrg();
  const allowed = org.rights.includes("webhooks.manage");
  const hooks = useQuery({ ...webhooksQuery(org.id), enabled: allowed });
  useNeighbours("/settings/webhooks", hooks.data?.items ?? none, idOf);
  const [adding, setAdding] = useState(false);
  const add = (
    <Button look="primary" onClick={() => setAdding(true)}>
      {w.addWebhook}
    </Button>
  );
  return (
    <SettingsPage tab="webhooks" needs="webhooks.manage" acts={hooks.data?.items.length ? add : undefined}>
      <Loaded query={hooks}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={w.webhooksNone} action={add}>
              {w.webhooksHelp}
            </Empty>
          ) : (
            <ul className="card setting-lines">
              {items.map((hook) => (
                <Row key={hook.id} hook={hook} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {adding && <AddWebhook onClose={() => setAdding(false)} />}
    </SettingsPage>
  );
}

function Row({ hook }: { hook: Hook }) {
  return (
    <li>
      <div className="grow">
        <Link to="/settings/webhooks/$id" params={{ id: hook.id }}>
          <AgentText text={hook.name} />
        </Link>
        <p className="small muted">
          {w.webhookKinds[hook.kind] ?? hook.kind} · <AgentText text={hook.target} />
        </p>
      </div>
      {hook.failingSince && (
        <span className="small wrong-text">
          {w.failing} <Time at={hook.failingSince} form="absolute" />
        </span>
      )}
      {hook.dead > 0 && <StatusBadge word={w.dead(hook.dead)} error />}
      {hook.waiting > 0 && <StatusBadge word={w.waiting(hook.waiting)} />}
      <StatusBadge word={hook.enabled ? w.on : w.off} />
    </li>
  );
}
