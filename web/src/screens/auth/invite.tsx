import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/client";
import { meQuery } from "../../app/queries";
import { getSession, leave, restore } from "../../auth/session";
import { useSession } from "../../auth/useSession";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { explain, SkeletonLines } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { Page } from "./Page";

const route = getRouteApi("/bare/invites/accept");

/** AcceptInvite makes a person a member, after they signed in or registered. */
export function AcceptInvite() {
  const { token = "" } = route.useSearch();
  const [asked, setAsked] = useState(getSession().state !== "unknown");
  const session = useSession();
  useEffect(() => {
    restore().then(
      () => setAsked(true),
      () => setAsked(true),
    );
  }, []);
  return (
    <Page title={words.auth.invite}>
      {!asked ? (
        <SkeletonLines lines={2} />
      ) : session.state === "in" ? (
        <Accept token={token} />
      ) : (
        <First token={token} />
      )}
    </Page>
  );
}

function First({ token }: { token: string }) {
  const next = `/invites/accept?token=${encodeURIComponent(token)}`;
  return (
    <>
      <Link className="button primary" to="/register" search={{ token }}>
        {words.auth.register}
      </Link>
      <Link className="button" to="/sign-in" search={{ next }}>
        {words.auth.signIn}
      </Link>
    </>
  );
}

function Accept({ token }: { token: string }) {
  const me = useQuery(meQuery);
  const navigate = useNavigate();
  const client = useQueryClient();
  const invitation = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => api.post("/organization/invites/look", { body: { token } }),
    enabled: me.isSuccess,
    retry: false,
  });
  const accept = useMutation({
    mutationFn: () => api.post("/organization/invites/accept", { body: { token } }),
    onSuccess: async (org) => {
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
      toast(words.auth.accepted);
      await navigate({ to: "/", search: { org: org.id } });
    },
  });
  const wrong = accept.error ?? invitation.error;
  return (
    <>
      {invitation.data && (
        <p>
          {words.auth.invitedTo(clean(invitation.data.organization, 200), invitation.data.role)}
          {` ${words.settings.roles[invitation.data.role]?.says ?? ""}`}
        </p>
      )}
      <p className="muted">{me.data ? words.auth.inviteHelp(clean(me.data.user.email, 254)) : ""}</p>
      {wrong && (
        <p role="alert" className="wrong-text">
          {explain(wrong, true).title} {explain(wrong, true).help}
        </p>
      )}
      <Button look="primary" busy={accept.isPending} onClick={() => accept.mutate()}>
        {words.auth.accept}
      </Button>
      <Button onClick={leave}>{words.auth.inviteOther}</Button>
    </>
  );
}
