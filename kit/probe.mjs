import { openMongoDatabase } from './dist/src/store/mongo/index.js';
import { openNatsBus } from './dist/src/events/nats/index.js';
import { startRelay } from './dist/src/events/relay.js';
import { installTool, startMongo, startNats } from '../scripts/servers.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtempSync } from 'node:fs';
const dir = mkdtempSync('/tmp/mongo-dev/chaos-');
const [mp, np] = [await installTool('secantus'), await installTool('nats')];
let mongo = await startMongo(mp, dir+'/m'); let nats = await startNats(np, dir+'/n');
const database = await openMongoDatabase({ url: `mongodb://127.0.0.1:${mongo.port}/?replicaSet=secantus` });
const errors = {};
const log = { debug(){}, info(e,f){ }, warn(e,f){ errors[e]=(errors[e]??0)+1; }, error(e,f){ console.log(e,f); }, child(){return log}, flush(){} };
const bus = await openNatsBus({ url: `nats://127.0.0.1:${nats.port}`, log });
const outbox = database.outbox('s');
const relay = startRelay({ outbox, bus, log });
const store = database.store('s');
const col = await store.collection({ name: 'things', indexes: [{fields:['name']}] });
const seen = new Map(); let deliveries=0; const orderFaults=[];
await bus.subscribe({consumer:'c',types:['commonplace.>'],batch:50}, async (es)=>{ for (const e of es) { deliveries++; const last=seen.get(e.subject)??-1; if (e.data.n>last+1) orderFaults.push([e.subject,last,e.data.n]); if (e.data.n>last) seen.set(e.subject,e.data.n);} });
let stop=false; const acked=new Map(), failures={};
const writer = async (w)=>{ let n=0; 
 while(!stop){ const u=store.begin();
  try {
   const before = await u.get(col,'w'+w); 
   // an unknown outcome: what the store has decides
   n = before ? before.n+1 : 0;
   if (before) u.replace(col,before,{id:'w'+w,name:'x',n}); else u.insert(col,{id:'w'+w,name:'x',n});
   u.publish({specversion:'1.0',id:`e-${w}-${n}`,source:'/s',type:'commonplace.s.t.u',subject:'w'+w,time:new Date().toISOString(),datacontenttype:'application/json',data:{n}});
   await u.commit(); acked.set('w'+w,n);
  } catch(e){ const k=e.name+':'+(e.code??'')+':'+(e.cause?.name??'')+':'+e.cause?.code+':'+e.cause?.message+':'+[...(e.cause?.errorLabelSet??[])]+':'+e.cause?.cause?.name; failures[k]=(failures[k]??0)+1; await sleep(100); }
 } };
const writers=[0,1,2,3,4,5].map(writer);
for (let i=0;i<3;i++) {
  await sleep(2500); await mongo.stop('SIGKILL'); console.log('mongo killed'); await sleep(300); mongo = await startMongo(mp, dir+'/m', mongo.port);
  await sleep(2500); await nats.stop('SIGKILL'); console.log('nats killed'); await sleep(300); nats = await startNats(np, dir+'/n', nats.port);
}
await sleep(4000); stop=true; await Promise.all(writers);
console.log('acked', Object.fromEntries(acked)); 
for (const [id,n] of acked) { const r=await col.get(id); if (r.n<n) console.log('LOST', id, n, r.n); }
for (let i=0;i<60;i++){ const b=await outbox.backlog(); const lag=await bus.lag('c').catch(()=>-1); if (b.pending===0&&lag===0) break; await sleep(500); if(i%10===0) console.log('waiting',b,lag); }
let missing=0; for (const [id,n] of acked) if ((seen.get(id)??-1)<n) { missing++; console.log('NOT SEEN',id,n,seen.get(id)); }
console.log({failures, errors, deliveries, total:[...acked.values()].reduce((a,b)=>a+b+1,0), missing, orderFaults: orderFaults.length, first: orderFaults[0]});
await relay.close(); await bus.close(); await database.close(); await mongo.stop(); await nats.stop(); process.exit(0);
