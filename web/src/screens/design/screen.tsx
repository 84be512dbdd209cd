import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { optionsQuery } from "../../app/queries";
import { NotHere } from "../../app/RouteError";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, RiskBadge, StatusBadge, VerdictBadge, verdicts } from "../../ui/Badge";
import { Button, Choice, Field } from "../../ui/Button";
import { CopyButton, IdChip } from "../../ui/CopyButton";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Menu } from "../../ui/Menu";
import { Tile, Tiles } from "../../ui/Tile";
import { Time } from "../../ui/Time";
import { sendSoon, toast } from "../../ui/Toast";
import { Forms, Read } from "./forms";
import { hostile } from "./hostile";
import { Charts, Json, Lists, Proof, States } from "./parts";
import { Traces } from "./traces";

/** Design shows every component in every state, for those who build screens. */
export function Design() {
  const options = useQuery(optionsQuery);
  usePage({ name: "Design" });
  if (!options.data) return null;
  if (!options.data.development) return <NotHere />;
  return (
    <div className="screen" data-settled>
      <h1>Design</h1>
      <Texts />
      <Controls />
      <Forms />
      <Overlays />
      <Section title="Tiles">
        <Tiles>
          <Tile label="Decisions" value="12,408" note="all allowed" link={{ to: "/" }} />
          <Tile label="Cost" value="$41.20" note="+18%" />
          <Tile label="Loading" value="" loading />
        </Tiles>
      </Section>
      <States />
      <Read />
      <Lists />
      <Traces />
      <Charts />
      <Json />
      <Proof />
    </div>
  );
}

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card stack">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Texts() {
  return (
    <Section title="Text, badges, ids, times">
      <div className="row wrap">
        {verdicts.map((v) => (
          <VerdictBadge key={v} verdict={v} index={1207} />
        ))}
        {verdicts.map((v) => (
          <VerdictBadge key={v} verdict={v} shadow />
        ))}
        <StatusBadge word="Resolved" />
        <StatusBadge word="Open" error />
        {["low", "medium", "high", "critical"].map((r) => (
          <RiskBadge key={r} risk={r} />
        ))}
        <ProofLink index={1207} />
      </div>
      <div className="row wrap">
        <IdChip id="0199d1c2-7a54-4c1e-9b7e-2f6a4c1d8e30" />
        <CopyButton text="copied" label="Copy" />
        <Time at={Date.now() - 150_000} />
        <Time at={Date.now() - 150_000} form="absolute" />
      </div>
      {Object.entries(hostile).map(([name, text]) => (
        <div key={name}>
          <span className="small faint">{name}</span>
          <div>
            <AgentText text={text} />
          </div>
          <AgentText text={text} line />
        </div>
      ))}
    </Section>
  );
}

function Controls() {
  const [choice, setChoice] = useState<"a" | "b">("a");
  return (
    <Section title="Controls">
      <div className="row wrap">
        <Button>Plain</Button>
        <Button look="primary">Primary</Button>
        <Button look="danger">Danger</Button>
        <Button look="quiet">Quiet</Button>
        <Button look="primary" busy>
          Busy
        </Button>
        <Button refused="Viewers cannot do this. Ask Ada.">Refused</Button>
        <Menu
          button={<Button>Menu</Button>}
          items={[
            { label: "First", onSelect: () => toast("First") },
            { label: "Refused", onSelect: () => {}, refused: "Not yours" },
          ]}
        />
      </div>
      <div className="columns">
        <Field label="Field" hint="What it is for." />
        <Field label="Wrong field" defaultValue="x" wrong="must be 3-100 characters" />
        <Choice
          label="Choice"
          value={choice}
          onChange={setChoice}
          options={[
            ["a", "First"],
            ["b", "Second"],
          ]}
        />
      </div>
    </Section>
  );
}

function Overlays() {
  const [open, setOpen] = useState<"dialog" | "confirm">();
  const close = () => setOpen(undefined);
  return (
    <Section title="Above the page">
      <div className="row wrap">
        <Button onClick={() => setOpen("dialog")}>Dialog</Button>
        <Button onClick={() => setOpen("confirm")}>Confirm</Button>
        <Button onClick={() => toast("Saved.")}>Toast</Button>
        <Button onClick={() => toast("It failed.", { error: true })}>Error toast</Button>
        <Button onClick={() => sendSoon("Approving", () => toast("Sent."))}>Undo before sending</Button>
      </div>
      <Dialog open={open === "dialog"} onClose={close} title="A dialog">
        <p>It keeps the focus, and gives it back.</p>
        <div className="row end">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
      <ConfirmDialog
        open={open === "confirm"}
        onClose={close}
        title="Kill billing?"
        act="Kill billing"
        danger
        type="billing"
        onConfirm={async () => toast("Killed.")}
      >
        <p>Binds this agent and its 2 keys.</p>
      </ConfirmDialog>
    </Section>
  );
}
