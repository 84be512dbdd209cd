import { useDemo } from "../../app/demo";
import { Button } from "../../ui/Button";
import { explain } from "../../ui/states";
import { words } from "../../words/en";

const w = words.demo;

/** TryDemo makes demo data, or opens what is there. */
export function TryDemo() {
  const demo = useDemo();
  if (!demo) return null;
  const { mine, make, open } = demo;
  if (mine) return <Button onClick={() => void open(mine.id)}>{w.open}</Button>;
  return (
    <>
      <Button busy={make.isPending} onClick={() => make.mutate()}>
        {make.isPending ? w.making : w.make}
      </Button>
      {make.error && (
        <span role="alert" className="wrong-text">
          {explain(make.error, true).help}
        </span>
      )}
    </>
  );
}
