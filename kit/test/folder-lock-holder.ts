import { lockFolder } from '../src/folder-lock/index.js';

/** Holds a folder until the process is killed. */
lockFolder(process.argv[2] as string);
console.log('held');
setInterval(() => {}, 60_000);
