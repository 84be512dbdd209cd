import { useState } from "react";
import { ApiError } from "../../api/errors";
import { ToolName } from "../../ui/AgentText";
import { Button, Field } from "../../ui/Button";
import { Area, Check, Form, Problem, SecretOnce } from "../../ui/form";
import { JsonValue } from "../../ui/json/JsonViewer";
import { Loaded } from "../../ui/Loaded";
import { hostile } from "./hostile";
import { Section } from "./screen";

const refused = new ApiError(422, "the request is not valid", "", [
  { field: "name", message: "must be 3-100 characters" },
]);
const failed = new ApiError(500, "", "5c60b1d2-0000-4000-8000-000000000000");

/** Forms shows what is filled in and sent, and what a secret looks like. */
export function Forms() {
  const [ticked, setTicked] = useState(true);
  return (
    <Section title="Forms">
      <Form onSubmit={() => {}}>
        <div className="columns">
          <Field label="Name" required wrong={refused.field("name")} defaultValue="x" />
          <Area label="Several lines" hint="One in a line." rows={3} defaultValue={"example.org\nexample.com"} />
          <Area label="Wrong lines" wrong="must be domains" rows={3} defaultValue="x y" />
        </div>
        <Check label="Ticked" hint="What it means." checked={ticked} onChange={setTicked} />
        <Check
          label="Not yours to tick"
          refused="Viewers cannot do this. Ask Ada."
          checked={false}
          onChange={() => {}}
        />
        <Problem error={failed} />
        <Problem error={refused} fields={["name"]} />
        <div className="row end">
          <Button>Cancel</Button>
          <Button type="submit" look="primary">
            Save
          </Button>
        </div>
      </Form>
      <SecretOnce secret="whsec_0123456789abcdef0123456789abcdef" onDone={() => {}} />
    </Section>
  );
}

const away = { error: failed, refetch: () => {} };

/** Read shows what a query looks like while it loads, when it failed, and when it fails after it was read. */
export function Read() {
  return (
    <Section title="What was read">
      <div className="columns">
        <Loaded query={{ ...away, data: undefined, error: null }}>{() => null}</Loaded>
        <Loaded query={{ ...away, data: undefined }}>{() => null}</Loaded>
        <Loaded query={{ ...away, data: "It stays." }}>{(text) => <p>{text}</p>}</Loaded>
      </div>
      <div className="columns">
        <ToolName server="bank" tool="send_money" />
        <div className="one-line">
          <ToolName server={hostile.script} tool={hostile.unbroken} line />
        </div>
        <JsonValue name="one value" value={hostile.bidi} />
      </div>
    </Section>
  );
}
