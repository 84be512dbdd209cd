import { Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { useMe } from "../../app/org";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { posts as w } from "../../words/blog";
import { InstallationPage, More } from "./parts";
import { postsQuery } from "./queries";

/** Posts lists the posts of the blog, drafts included, for the people who write it. */
export function Posts() {
  const create = (
    <Link className="button primary" to="/installation/blog/new">
      {w.create}
    </Link>
  );
  const { operator } = useMe();
  const { list, rows, table } = useList({ ...postsQuery, enabled: operator });
  return (
    <InstallationPage
      tab="blog"
      acts={
        <>
          <a className="button" href="/ui/blog">
            {w.readers}
          </a>
          {rows.length > 0 && create}
        </>
      }
    >
      <Loaded query={list}>
        {() =>
          rows.length === 0 ? (
            <Empty title={w.none} action={create}>
              {w.noneHelp}
            </Empty>
          ) : (
            <ul className="card lines">
              {rows.map((post) => (
                <Row key={post.id} post={post} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <More {...table} />
    </InstallationPage>
  );
}

function Row({ post }: { post: Body<"PostSummaryBody"> }) {
  return (
    <li>
      <div className="grow">
        <Link to="/installation/blog/$id" params={{ id: post.id }}>
          <AgentText text={post.title} short />
        </Link>
        <p className="small muted">
          <AgentText text={post.summary} short />
        </p>
      </div>
      <span className="small faint">
        {w.updated} <Time at={post.updatedAt} />
      </span>
      <StatusBadge word={post.publishedAt ? w.published : w.draft} />
    </li>
  );
}
