import { useState } from "react";
import { ApiError } from "../../api/errors";
import { parseExact } from "../../api/exact";
import { AgentText } from "../../ui/AgentText";
import { VerdictBadge, verdicts } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Bars } from "../../ui/chart/Bars";
import { TimeChart } from "../../ui/chart/TimeChart";
import { FilterBar, type Filtered } from "../../ui/FilterBar";
import { money } from "../../ui/format";
import { JsonViewer } from "../../ui/json/JsonViewer";
import { PathTree } from "../../ui/proof/PathTree";
import { RangePicker } from "../../ui/RangePicker";
import type { RangeSearch } from "../../ui/range";
import { Empty, ErrorBanner, ErrorPanel, SkeletonLines } from "../../ui/states";
import { Timeline } from "../../ui/Timeline";
import { ColumnsMenu } from "../../ui/table/ColumnsMenu";
import { chosenColumns } from "../../ui/table/columns";
import { type Column, Table } from "../../ui/table/Table";
import { hostile } from "./hostile";
import { Section } from "./screen";

const failures = [0, 401, 403, 404, 409, 429, 500].map(
  (status) => new ApiError(status, "a sentence of the server", "5c60b1d2-0000-4000-8000-000000000000", [], 12),
);

export function States() {
  return (
    <Section title="States">
      <Empty title="No trace matches 2 filters." action={<Button>Clear</Button>}>
        What would be here.
      </Empty>
      <SkeletonLines lines={3} />
      <ErrorBanner error={failures[6]} retry={() => {}} />
      <div className="columns">
        {failures.map((error) => (
          <ErrorPanel key={error.status} error={error} retry={() => {}} />
        ))}
        <ErrorPanel error={failures[6]} writing />
      </div>
    </Section>
  );
}

interface Sample {
  id: number;
  name: string;
}

const samples: Sample[] = Array.from({ length: 10_000 }, (_, i) => ({
  id: i,
  name: i % 7 === 3 ? (Object.values(hostile)[i % 6] ?? "") : `trace ${i}`,
}));

const columns: Column<Sample>[] = [
  { id: "id", head: "Id", width: "80px", number: true, cell: (s) => s.id },
  {
    id: "verdict",
    head: "Verdict",
    width: "110px",
    cell: (s) => <VerdictBadge verdict={verdicts[s.id % 4] ?? "deny"} />,
  },
  { id: "name", head: "Name", width: "minmax(200px, 1fr)", cell: (s) => <AgentText text={s.name} line /> },
];

const start = Date.UTC(2026, 10, 9, 12);

const moments = [
  { key: "1", at: new Date(start).toISOString(), body: <>Began</> },
  {
    key: "2",
    at: new Date(start + 1000).toISOString(),
    mark: "deny" as const,
    body: <VerdictBadge verdict="deny" />,
  },
  { key: "3", at: new Date(start + 2_220_000).toISOString(), mark: "error" as const, body: <>Failed</> },
];

export function Lists() {
  const [filter, setFilter] = useState<Filtered>({ status: ["denied"] });
  const [range, setRange] = useState<RangeSearch>({});
  const [cols, setCols] = useState<string[]>();
  return (
    <Section title="Lists">
      <FilterBar
        filters={[
          {
            name: "status",
            label: "status",
            several: true,
            values: [
              ["ok", "OK"],
              ["denied", "Denied"],
            ] as const,
          },
          { name: "agent", label: "agent" },
        ]}
        value={filter}
        onChange={(change) => setFilter({ ...filter, ...change })}
      >
        <RangePicker value={range} fallback="7d" onChange={setRange} />
        <ColumnsMenu columns={columns} cols={cols} onChange={setCols} />
      </FilterBar>
      <div style={{ blockSize: 320, display: "flex" }}>
        <Table
          label="Samples"
          columns={chosenColumns(columns, cols)}
          rows={samples}
          rowKey={(s) => String(s.id)}
          card={(s) => <AgentText text={s.name} line />}
          loading={false}
          empty={null}
          hasMore
        />
      </div>
      <Table
        label="Loading"
        columns={columns}
        rows={[]}
        rowKey={(s) => String(s.id)}
        card={() => null}
        loading
        empty={null}
      />
      <div style={{ blockSize: 280, display: "flex" }}>
        <Timeline label="A timeline" moments={moments} body={(m) => m.body} />
      </div>
    </Section>
  );
}

const buckets = Array.from({ length: 48 }, (_, i) => start / 1000 + i * 3600);
const wave = (n: number) => buckets.map((_, i) => Math.round(n * (1.2 + Math.sin(i / 5))));
const allowed = {
  name: "Allowed",
  kind: "bars" as const,
  series: [{ name: "Allow", color: "allow-solid", values: wave(900) }],
};
const stopped = {
  name: "Ask, hold, deny",
  kind: "bars" as const,
  series: [
    { name: "Ask", color: "ask-solid", values: wave(4) },
    { name: "Hold", color: "hold-solid", values: wave(6) },
    { name: "Deny", color: "deny-solid", values: wave(9) },
  ],
};
const cost = {
  name: "Cost",
  kind: "line" as const,
  series: [1, 2, 3, 4, 5, 6].map((i) => ({
    name: `model ${i}`,
    color: `chart-${i}`,
    values: wave(i / 10).map((v) => v / 3),
  })),
};

export function Charts() {
  return (
    <Section title="Charts">
      <TimeChart lane={allowed} buckets={buckets} unfinished />
      <TimeChart lane={stopped} buckets={buckets} unfinished />
      <TimeChart lane={cost} buckets={buckets} format={money} />
      <Bars
        label="Why denied"
        bars={[
          { key: "1", label: "not in the plan", value: 120, text: "120" },
          { key: "2", label: <AgentText text={hostile.script} line />, value: 31, text: "31" },
        ]}
      />
    </Section>
  );
}

const value = parseExact(
  `{"to":"mallory","amount":12345678901234567890,"ratio":1.50,"password":"hunter2","note":"[redacted]","deep":{"a":{"b":{"c":[1,2,3]}}},"text":${JSON.stringify(hostile.long)},"bidi":${JSON.stringify(hostile.bidi)},"forged":${JSON.stringify('landlord"\namount: 900\nnote: "ok')},"list":[${Array.from({ length: 120 }, (_, i) => i).join(",")}]}`,
);

const hash = "9f1824417ebf06bedbee265609578e0898a24711e70fe3d5e6179073a51bffb7";
const box = (label: string, seen = false) => ({ label, hash, seen });
const stages = Array.from({ length: 9 }, (_, i) => ({
  left: box(`#0 – #${2 ** (9 - i) - 1}`, i > 4),
  right: box(`#${2 ** (9 - i)} – #1,206`),
  way: i % 3 === 1 ? ("right" as const) : ("left" as const),
}));

export function Proof() {
  return (
    <Section title="Proof">
      <div className="columns">
        <PathTree label="A way of nine levels" root={box("root of 1,207 entries")} stages={stages} />
        <PathTree label="A way of two levels" root={box("root of 3 entries")} stages={stages.slice(0, 2)} />
      </div>
    </Section>
  );
}

export function Json() {
  return (
    <Section title="JSON">
      <JsonViewer label="Arguments" value={value} />
    </Section>
  );
}
