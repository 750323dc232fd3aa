export { backUp } from './backup.js';
export { type Cell, type Connection, openConnection, type Param, type Row } from './binding.js';
export { checkDatabase } from './check.js';
