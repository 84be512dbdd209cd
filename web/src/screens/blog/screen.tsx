import { Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { blog as w } from "../../words/blog";
import { Reading } from "./parts";
import { publishedQuery } from "./queries";

/** Blog lists what is published, newest first. */
export function Blog() {
  const { list, rows, table } = useList(publishedQuery);
  return (
    <Reading title={w.title}>
      <h1>{w.title}</h1>
      <Loaded query={list}>
        {() =>
          rows.length === 0 ? (
            <Empty title={w.none}>{w.noneHelp}</Empty>
          ) : (
            <ul className="stack">
              {rows.map((post) => (
                <Summary key={post.slug} post={post} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {table.hasMore && (
        <div className="row">
          <Button busy={table.loadingMore} onClick={table.loadMore}>
            {w.older}
          </Button>
        </div>
      )}
    </Reading>
  );
}

function Summary({ post }: { post: Body<"PublishedSummaryBody"> }) {
  return (
    <li className="card stack tight">
      <h2>
        <Link to="/blog/$slug" params={{ slug: post.slug }}>
          <AgentText text={post.title} short />
        </Link>
      </h2>
      {post.summary && (
        <p>
          <AgentText text={post.summary} />
        </p>
      )}
      <p className="small faint">
        <Time at={post.publishedAt} form="absolute" />
      </p>
    </li>
  );
}
