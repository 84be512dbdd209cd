import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/client";
import { ApiError } from "../../api/errors";
import { leave } from "../../auth/session";
import { Button, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Empty, explain } from "../../ui/states";
import { words } from "../../words/en";
import { useMe } from "../org";
import { meQuery } from "../queries";

/** NotAMember is what is seen at an address of an organization that the person is not in. */
export function NotAMember() {
  return (
    <main className="alone">
      <Empty title={words.shell.notAMember} action={<a href="/ui/">{words.shell.toOverview}</a>}>
        {words.shell.notAMemberHelp}
      </Empty>
    </main>
  );
}

/** NoOrganization is the first thing a new person does: make one. */
export function NoOrganization() {
  const { user, operator } = useMe();
  const [name, setName] = useState("");
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: () => api.post("/organization", { body: { name } }),
    onSuccess: () => client.invalidateQueries({ queryKey: meQuery.queryKey }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  const wrong = make.error
    ? (make.error instanceof ApiError && make.error.field("name")) || explain(make.error, true).help
    : undefined;
  return (
    <main className="alone">
      <form className="card stack" onSubmit={submit}>
        <h1>{words.shell.noOrganization}</h1>
        <p className="muted">{words.shell.noOrganizationHelp}</p>
        <Field
          label={words.shell.organizationName}
          value={name}
          maxLength={100}
          required
          wrong={wrong}
          onChange={(e) => setName(e.target.value)}
        />
        <Button type="submit" look="primary" busy={make.isPending}>
          {words.shell.makeOrganization}
        </Button>
        {operator && (
          <div className="row wrap">
            <span className="grow muted">{words.shell.operatorHelp}</span>
            <Link className="button" to="/installation/usage">
              {words.shell.toInstallation}
            </Link>
          </div>
        )}
        <p className="small muted row wrap">
          <span className="grow">{words.auth.signedInAs(clean(user.email))}</span>
          <Button look="quiet" onClick={leave}>
            {words.shell.signOut}
          </Button>
        </p>
      </form>
    </main>
  );
}
