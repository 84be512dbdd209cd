import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { statusOf } from "../../api/errors";
import type { Period } from "../../app/periods/Periods";
import { listQuery } from "../../app/queries";

export type AccessRequest = Body<"AccessRequestBody">;

const perPage = 50;

export const usageQuery = (by: Period) =>
  queryOptions({
    queryKey: ["installation", "usage", by],
    queryFn: ({ signal }) => api.get("/admin/dashboard/usage", { params: { query: { by } }, signal }),
  });

export const organizationsQuery = queryOptions({
  queryKey: ["installation", "usage", "organizations"],
  queryFn: ({ signal }) => api.get("/admin/dashboard/usage/organizations", { params: { query: {} }, signal }),
});

export const operatorsQuery = queryOptions({
  queryKey: ["installation", "operators"],
  queryFn: ({ signal }) => api.get("/admin/operators", { signal }),
});

export const accessKey = ["installation", "access"];

/** accessQuery reads requests for access, oldest first; undefined: of every status. */
export const accessQuery = (status: AccessRequest["status"] | undefined) =>
  listQuery([...accessKey, status ?? ""], (cursor, signal) =>
    api.get("/access-requests", {
      params: { query: { limit: perPage, ...(cursor ? { cursor } : {}), ...(status ? { status } : {}) } },
      signal,
    }),
  );

export type Post = Body<"PostBody">;

export const postsKey = ["installation", "blog"];

export const postsQuery = listQuery([...postsKey, "list"], (cursor, signal) =>
  api.get("/admin/blog/posts", { params: { query: { limit: perPage, ...(cursor ? { cursor } : {}) } }, signal }),
);

/** postQuery reads a post; null: there is none. */
export const postQuery = (id: string) =>
  queryOptions({
    queryKey: [...postsKey, "post", id],
    queryFn: ({ signal }): Promise<Post | null> =>
      api.get("/admin/blog/posts/{id}", { params: { path: { id } }, signal }).catch((error) => {
        if (statusOf(error) === 404) return null;
        throw error;
      }),
  });
