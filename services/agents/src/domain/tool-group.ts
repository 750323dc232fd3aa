/** A group of built-in tools. Agents are given tools by group. */
export type ToolGroup =
  | 'search'
  | 'read'
  | 'write'
  | 'create'
  | 'comment'
  | 'table'
  | 'file'
  | 'web_fetch'
  | 'work_item'
  | 'memory'
  | 'im';
