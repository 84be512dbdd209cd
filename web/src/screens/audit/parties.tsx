import { KeyChip } from "../../app/KeyChip";
import { Person } from "../../app/people";
import { IdChip } from "../../ui/CopyButton";
import { words } from "../../words/en";
import type { Told } from "./record";

const w = words.audit;

// Where room is scarce the word is cut, and the id beside it stays whole: it is what one copies.
const Kind = ({ name }: { name: string }) => (
  <span className="muted one-line" title={name}>
    {name}
  </span>
);

/** Named is a person by name, a key as a link to its row, and else an id. Actors and subjects call a key differently. */
function Named({ kind, id }: { kind: string; id: string }) {
  if (kind === "user") return <Person id={id} />;
  return kind === "key" || kind === "api_key" ? <KeyChip id={id} /> : <IdChip id={id} />;
}

/** Actor is who did something. */
export function Actor({ actor }: { actor: Told["actor"] }) {
  return (
    <span className="row">
      <Kind name={w.kinds[actor.kind] ?? actor.kind} />
      {actor.id && <Named kind={actor.kind} id={actor.id} />}
    </span>
  );
}

/** Subject is what something was done to. */
export function Subject({ subject }: { subject: Told["subject"] }) {
  return (
    <span className="row">
      <Kind name={subject.type.replaceAll("_", " ")} />
      {subject.id && <Named kind={subject.type} id={subject.id} />}
    </span>
  );
}
