import type { Doc, DocNode, Json, Mark } from '../model/model.js';

interface JsonNode {
  [field: string]: Json | undefined;
}

/** Returns the document as JSON for the API, with the fields `id`, `type`, `attrs`, `content` in this order. */
export const toJson = (doc: Doc): JsonNode => ({ type: 'doc', content: doc.content.map(writeNode) });

const writeMark = ({ type, attrs }: Mark): Json => (attrs === undefined ? { type } : { type, attrs });

function writeNode({ id, type, attrs, content, text, marks, extra }: DocNode): JsonNode & Json {
  const node: { [field: string]: Json } = {};
  if (id !== undefined) node.id = id;
  node.type = type;
  if (attrs !== undefined && Object.keys(attrs).length > 0) node.attrs = attrs;
  if (text !== undefined) node.text = text;
  if (marks !== undefined) {
    node.marks = marks.map(writeMark);
  }
  if (content !== undefined) node.content = content.map(writeNode);
  return extra === undefined ? node : { ...node, ...extra };
}
