import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api, type Body } from "../../api/client";
import { realOne, useMe, useOrgIfAny } from "../../app/org";
import { fresh } from "../../app/queries";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Button, Choice, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { fieldOf } from "../../ui/form";
import { Loaded } from "../../ui/Loaded";
import { explain } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { useAwake } from "./awake";
import "./device.css";

const w = words.auth;
const route = getRouteApi("/frame/device");

/** Device lets a person answer a terminal that wants to sign in. The safe answer has the focus. */
export function Device() {
  const { user_code: asked, wanted } = route.useSearch();
  const [code, setCode] = useState({ text: asked ?? "", times: 0 });
  const enter = (text: string) => setCode((before) => ({ text, times: before.times + 1 }));
  usePage({ name: w.deviceTitle });
  return (
    <div className="screen">
      <h1>{w.deviceTitle}</h1>
      {wanted && <p className="notice">{w.deviceWanted(clean(wanted, 40))}</p>}
      {code.text ? <Request key={code.times} code={code} onCode={enter} /> : <EnterCode onCode={enter} />}
    </div>
  );
}

interface EnterCodeProps {
  first?: string;
  wrong?: string | undefined;
  onCode: (code: string) => void;
}

function EnterCode({ first = "", wrong, onCode }: EnterCodeProps) {
  const [text, setText] = useState(first);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onCode(text.trim());
  };
  return (
    <form className="card stack device" onSubmit={submit}>
      <Field
        label={w.deviceCode}
        required
        maxLength={20}
        autoComplete="off"
        value={text}
        wrong={wrong}
        onChange={(e) => setText(e.target.value)}
      />
      <Button type="submit" look="primary">
        {w.deviceFind}
      </Button>
    </form>
  );
}

type Answered = "approved" | "denied";

interface CodeProps {
  code: { text: string; times: number };
  onCode: (code: string) => void;
}

function Request({ code, onCode }: CodeProps) {
  // The request is gone once it is answered: what was answered stays here.
  const [answered, setAnswered] = useState<Answered>();
  const request = useQuery({
    // A code that was refused is asked about anew when it is typed again.
    queryKey: ["device", code.text, code.times],
    queryFn: ({ signal }) => api.get("/auth/device/request", { params: { query: { userCode: code.text } }, signal }),
    retry: false,
    staleTime: fresh.never,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (answered) return <p role="status">{answered === "approved" ? w.deviceApproved : w.deviceDenied}</p>;
  const wrong = fieldOf(request.error, "userCode");
  if (wrong) return <EnterCode first={code.text} wrong={wrong} onCode={onCode} />;
  return <Loaded query={request}>{(found) => <Answer request={found} onAnswered={setAnswered} />}</Loaded>;
}

interface AnswerProps {
  request: Body<"DeviceRequestBody">;
  onAnswered: (answer: Answered) => void;
}

function Answer({ request, onAnswered }: AnswerProps) {
  const me = useMe();
  const here = useOrgIfAny();
  const [org, setOrg] = useState((here?.demo ? realOne(me.organizations) : here)?.id ?? here?.id);
  const offersSession = request.client === "writ";
  const [session, setSession] = useState(offersSession);
  const member = me.organizations.find((o) => o.id === org);
  const hasKeys = (member?.rights as string[] | undefined)?.includes("keys.own") ?? false;
  const keyless = hasKeys ? undefined : withoutKey(offersSession, member?.role);
  const awake = useAwake();
  const answer = useMutation({
    mutationFn: (yes: boolean) =>
      yes
        ? api.post("/auth/device/approve", {
            body: { userCode: request.userCode, ...(org && { organizationId: org, keyOnly: hasKeys && !session }) },
          })
        : api.post("/auth/device/deny", { body: { userCode: request.userCode } }),
    onSuccess: (_, yes) => onAnswered(yes ? "approved" : "denied"),
  });
  return (
    <div className="card stack device">
      <p className="device-code mono">{request.userCode}</p>
      <div className="stack tight">
        <p>
          <strong>{w.deviceOnly}</strong>
        </p>
        <p>{w.deviceLink}</p>
      </div>
      <Asking request={request} email={me.user.email} keyless={keyless} />
      {org && (
        <Choice
          label={w.deviceOrganization}
          value={org}
          onChange={setOrg}
          options={me.organizations.map((o) => [o.id, clean(o.name)] as const)}
        />
      )}
      {hasKeys && offersSession && (
        <label className="row device-session">
          <input type="checkbox" checked={session} onChange={(e) => setSession(e.target.checked)} />
          <span>{w.deviceSession}</span>
        </label>
      )}
      {!hasKeys && !offersSession && (
        <p>
          {w.deviceNeedsOne} {w.deviceEnds}
        </p>
      )}
      {answer.error && (
        <p role="alert" className="wrong-text">
          {explain(answer.error, true).title} {explain(answer.error, true).help} {w.deviceEnds}
        </p>
      )}
      <div className="row end">
        <Button busy={answer.isPending} autoFocus onClick={() => answer.mutate(false)}>
          {w.deviceDeny}
        </Button>
        <Button
          look="primary"
          busy={answer.isPending}
          refused={hasKeys || offersSession ? (awake ? undefined : w.deviceWait) : w.deviceNeedsOne}
          onClick={() => answer.mutate(true)}
        >
          {w.deviceApprove}
        </Button>
      </div>
    </div>
  );
}

/** withoutKey is what a terminal gets that gets no key. */
function withoutKey(offersSession: boolean, role?: string): string {
  if (!offersSession) return w.deviceGetsNothing;
  return role ? w.deviceRoleKey(role) : w.deviceWithoutKey;
}

interface AskingProps {
  request: Body<"DeviceRequestBody">;
  email: string;
  keyless: string | undefined; // why it gets no key; undefined: it gets one
}

/** Asking is what the terminal says of itself, and what it would get. */
function Asking({ request, email, keyless }: AskingProps) {
  return (
    <dl className="facts">
      <dt>{w.deviceWho}</dt>
      <dd>
        <AgentText text={email} />
      </dd>
      <dt>{w.deviceFrom}</dt>
      <dd>{request.address}</dd>
      <dt>{w.deviceProgram}</dt>
      <dd>
        <AgentText text={request.userAgent || w.deviceNotTold} />
      </dd>
      <dt>{w.deviceProduct}</dt>
      <dd>
        <AgentText text={request.product || w.deviceNotTold} />
      </dd>
      <dt>{w.deviceBegan}</dt>
      <dd>
        <Time at={request.createdAt} form="absolute" />
      </dd>
      <dt>{keyless ? w.deviceGetsNone : w.deviceGets}</dt>
      {keyless ? <dd>{keyless}</dd> : <KeyScopes scopes={request.scopes} />}
    </dl>
  );
}

function KeyScopes({ scopes }: { scopes: string[] }) {
  return (
    <dd>
      <ul className="bullets">
        {scopes.map((scope) => (
          <li key={scope}>{w.scopes[scope] ?? scope}</li>
        ))}
      </ul>
      {w.deviceNever}
    </dd>
  );
}
