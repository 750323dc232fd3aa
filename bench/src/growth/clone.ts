import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';

interface Database {
  exec(sql: string): void;
  prepare(sql: string): { run(...params: unknown[]): unknown; all(...params: unknown[]): Record<string, unknown>[] };
  close(): void;
}

/** SQL that yields the numbers from 0 up to, but not including, a parameter. */
const NUMBERS = 'WITH RECURSIVE c(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM c WHERE v + 1 < ?)';
/** SQL for a UUID of version 7 whose last part is a number, so that all are different. */
const ID = `'01900000-0000-7000-8000-' || printf('%012x', n.value)`;

/**
 * Multiplies the documents of a workspace until it has `count` resources, by writing into the file of a stopped system.
 * Each copy is in the folder of its original, has the same size, and has its own name. With the API this would take
 * hours for 200,000 documents.
 */
export function multiplyDocuments(home: string, workspaceId: string, count: number): void {
  withDatabase(home, (db) => {
    const where = `doc ->> '$.workspaceId' = ? AND doc ->> '$.state' = 'active'`;
    const nodes = db
      .prepare(`SELECT id, doc ->> '$.type' AS type FROM resources__nodes WHERE ${where}`)
      .all(workspaceId);
    const documents = nodes.filter(({ type }) => type === 'document').map(({ id }) => id);
    const missing = count - nodes.length;
    if (missing <= 0) return;
    db.exec('CREATE TEMP TABLE n (value INTEGER PRIMARY KEY, original TEXT)');
    db.prepare(`INSERT INTO n ${NUMBERS} SELECT v, json_extract(?, '$[' || CAST(v % ? AS INTEGER) || ']') FROM c`).run(
      missing,
      JSON.stringify(documents),
      documents.length,
    );
    const name = `(o.doc ->> '$.name') || ' ' || n.value`;
    const node = `json_set(o.doc, '$.id', ${ID}, '$.name', ${name}, '$.nameFold', lower(${name}))`;
    const copy = (table: string, doc: string) =>
      `INSERT INTO ${table} (id, version, doc) SELECT ${ID}, 1, ${doc} FROM n JOIN ${table} o ON o.id = n.original`;
    db.exec('BEGIN');
    db.exec(copy('resources__nodes', `json_set(${node}, '$.version', 1)`));
    db.exec(
      copy('resources__contents', `json_set(o.doc, '$.id', ${ID}, '$.version', 1, '$.text', 'Copy ' || n.value)`),
    );
    const counter = `id = (SELECT id FROM resources__counters WHERE doc ->> '$.boundary' = ? LIMIT 1)`;
    db.prepare(
      `UPDATE resources__counters SET doc = json_set(doc, '$.active', (doc ->> '$.active') + ?) WHERE ${counter}`,
    ).run(missing, workspaceId);
    db.exec('COMMIT');
  });
}

/**
 * Multiplies a workspace and its owner's membership until there are `count`, by writing into the file of a stopped
 * system.
 */
export function multiplyWorkspaces(home: string, workspaceId: string, count: number): void {
  withDatabase(home, (db) => {
    db.exec('CREATE TEMP TABLE n (value INTEGER PRIMARY KEY)');
    db.prepare(`INSERT INTO n ${NUMBERS} SELECT v FROM c WHERE v < ?`).run(count - 1, count - 1);
    const copy = (table: string, doc: string, where: string) =>
      `INSERT INTO ${table} (id, version, doc) SELECT ${ID}, 1, ${doc} FROM n JOIN ${table} o ON ${where}`;
    const name = `'Workspace ' || n.value`;
    const slug = `'workspace-' || n.value`;
    const workspace =
      `json_set(o.doc, '$.id', ${ID}, '$.name', ${name}, '$.nameFold', lower(${name}), '$.slug', ${slug}, ` +
      `'$.slugKey', (o.doc ->> '$.orgId') || ':' || ${slug})`;
    const member =
      `json_set(o.doc, '$.id', ${ID}, '$.workspaceId', ${ID}, ` +
      `'$.personKey', ${ID} || ':' || (o.doc ->> '$.userId'))`;
    db.exec('BEGIN');
    db.prepare(copy('tenancy__workspaces', workspace, 'o.id = ?')).run(workspaceId);
    db.prepare(copy('tenancy__workspace_members', member, `o.doc ->> '$.workspaceId' = ?`)).run(workspaceId);
    db.exec('COMMIT');
  });
}

function withDatabase(home: string, act: (db: Database) => void): void {
  const Sqlite = createRequire(join(ROOT, 'kit/package.json'))('libsql') as new (path: string) => Database;
  const db = new Sqlite(join(home, 'data/commonplace.db'));
  try {
    act(db);
  } finally {
    db.close();
  }
}
