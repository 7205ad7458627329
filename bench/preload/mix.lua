-- Three routes as Zipf has them, 6:3:2, always in this order.
local paths = {"/", "/user/1", "/", "/about", "/", "/user/1", "/", "/", "/about", "/user/1", "/"}
local n = 0
request = function()
  n = n % #paths + 1
  return wrk.format("GET", paths[n])
end
