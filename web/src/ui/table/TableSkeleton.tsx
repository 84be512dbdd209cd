import { words } from "../../words/en";
import { Skeleton, useLate } from "../states";

interface Props {
  columns: { id: string; width: string }[];
  label: string;
}

const skeletons = 12;

/** TableSkeleton has the shape of a table that is loading. */
export function TableSkeleton({ columns, label }: Props) {
  const late = useLate();
  return (
    <div className="table-frame" role="status" aria-label={words.ui.loadingThing(label)}>
      {late &&
        Array.from({ length: skeletons }, (_, i) => (
          <div key={i} className="table-row" style={{ gridTemplateColumns: columns.map((c) => c.width).join(" ") }}>
            {columns.map((c, j) => (
              <Skeleton key={c.id} width={`${50 + ((i * 7 + j * 13) % 40)}%`} height={12} />
            ))}
          </div>
        ))}
    </div>
  );
}
