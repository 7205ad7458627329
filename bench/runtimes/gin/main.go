// The scenarios on Gin: what a compiled language does with the same work. `serve SCENARIO ADDRESS`, with the database in BENCH_DSN.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	_ "github.com/go-sql-driver/mysql"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println("Gin", gin.Version)
		return
	}
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gin serve SCENARIO ADDRESS | gin version")
		os.Exit(2)
	}
	engine := gin.New()
	if os.Args[2] == "http_arena" {
		httpArena(engine, os.Getenv("BENCH_APP"))
	} else if handle := handler(os.Args[2]); handle != nil {
		engine.GET("/", handle)
	} else {
		fmt.Fprintln(os.Stderr, "no such scenario:", os.Args[2])
		os.Exit(2)
	}
	if err := engine.Run(os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The scenario's handler, or nil.
func handler(scenario string) gin.HandlerFunc {
	switch scenario {
	case "basic":
		return func(c *gin.Context) { c.String(http.StatusOK, "ok") }
	case "plaintext":
		return func(c *gin.Context) { c.String(http.StatusOK, "Hello, World!") }
	case "json":
		return func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"message": "Hello, World!"}) }
	case "basic_query":
		return query(true)
	case "basic_query_with_pool":
		return query(false)
	case "basic_query_with_pool_and_caching":
		return cached()
	case "db", "queries", "updates":
		return worlds(scenario)
	}
	return nil
}

// In the order in which PHP has the keys of the data set.
type item struct {
	Active   bool   `json:"active"`
	Category string `json:"category"`
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Price    int    `json:"price"`
	Quantity int    `json:"quantity"`
	Rating   struct {
		Count int `json:"count"`
		Score int `json:"score"`
	} `json:"rating"`
	Tags []string `json:"tags"`
}

type itemWithTotal struct {
	item
	Total int `json:"total"`
}

// HttpArena's profiles that need no database.
func httpArena(engine *gin.Engine, app string) {
	text, err := os.ReadFile(filepath.Join(app, "dataset.json"))
	if err != nil {
		panic(err)
	}
	var items []item
	if err := json.Unmarshal(text, &items); err != nil {
		panic(err)
	}
	sum := func(c *gin.Context) {
		a, _ := strconv.Atoi(c.Query("a"))
		b, _ := strconv.Atoi(c.Query("b"))
		body, _ := io.ReadAll(c.Request.Body)
		more, _ := strconv.Atoi(string(body))
		c.String(http.StatusOK, strconv.Itoa(a+b+more))
	}
	engine.GET("/baseline11", sum)
	engine.POST("/baseline11", sum)
	engine.GET("/pipeline", func(c *gin.Context) { c.String(http.StatusOK, "ok") })
	engine.GET("/json/:count", func(c *gin.Context) {
		count, _ := strconv.Atoi(c.Param("count"))
		multiplier, _ := strconv.Atoi(c.Query("m"))
		count = max(0, min(count, len(items)))
		found := make([]itemWithTotal, count)
		for at, one := range items[:count] {
			found[at] = itemWithTotal{one, one.Price * one.Quantity * multiplier}
		}
		c.JSON(http.StatusOK, struct {
			Items []itemWithTotal `json:"items"`
			Count int             `json:"count"`
		}{found, count})
	})
	engine.POST("/upload", func(c *gin.Context) {
		length, _ := io.Copy(io.Discard, c.Request.Body)
		c.String(http.StatusOK, strconv.FormatInt(length, 10))
	})
	engine.Static("/static", filepath.Join(app, "static"))
}

func open(idle int) *sql.DB {
	db, err := sql.Open("mysql", os.Getenv("BENCH_GO_DSN"))
	if err != nil {
		panic(err)
	}
	db.SetMaxIdleConns(idle)
	return db
}

// As print_r of PHP prints the rows.
func rows(db *sql.DB) (string, error) {
	found, err := db.Query("SELECT test1_id, test1_timestamp, test1_data, test1_some_fk FROM test1 WHERE test1_id > ?", 0)
	if err != nil {
		return "", err
	}
	defer found.Close()
	var text strings.Builder
	text.WriteString("Array\n(\n")
	for number := 0; found.Next(); number++ {
		var id, stamp, key int64
		var data string
		if err := found.Scan(&id, &stamp, &data, &key); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "    [%d] => Array\n        (\n            [test1_id] => %d\n            [test1_timestamp] => %d\n            [test1_data] => %s\n            [test1_some_fk] => %d\n        )\n\n", number, id, stamp, data, key)
	}
	text.WriteString(")\n")
	return text.String(), found.Err()
}

func query(connect bool) gin.HandlerFunc {
	idle := 64
	if connect {
		idle = -1
	}
	db := open(idle)
	return func(c *gin.Context) {
		text, err := rows(db)
		answer(c, text, err)
	}
}

func cached() gin.HandlerFunc {
	db := open(4)
	var once sync.Once
	var text string
	var err error
	return func(c *gin.Context) {
		once.Do(func() { text, err = rows(db) })
		answer(c, text, err)
	}
}

type world struct {
	ID           int `json:"id"`
	RandomNumber int `json:"randomNumber"`
}

// TechEmpower's db, queries and updates, as bench/scenarios/world.php has them.
func worlds(which string) gin.HandlerFunc {
	db := open(64)
	prepare := func(query string) *sql.Stmt {
		statement, err := db.Prepare(query)
		if err != nil {
			panic(err)
		}
		return statement
	}
	read := prepare("SELECT id, randomNumber FROM world WHERE id = ?")
	write := prepare("UPDATE world SET randomNumber = ? WHERE id = ?")
	return func(c *gin.Context) {
		ids, given := ids(c)
		found := make([]world, len(ids))
		for at, id := range ids {
			if err := read.QueryRow(id).Scan(&found[at].ID, &found[at].RandomNumber); err != nil {
				c.String(http.StatusInternalServerError, err.Error())
				return
			}
		}
		if which == "updates" {
			if err := change(write, found, given); err != nil {
				c.String(http.StatusInternalServerError, err.Error())
				return
			}
		}
		if which == "db" {
			c.JSON(http.StatusOK, found[0])
			return
		}
		c.JSON(http.StatusOK, found)
	}
}

// The rows that are asked for, and whether they were named.
func ids(c *gin.Context) ([]int, bool) {
	if named := c.Query("ids"); named != "" {
		words := strings.Split(named, ",")
		ids := make([]int, len(words))
		for at, word := range words {
			ids[at], _ = strconv.Atoi(word)
		}
		return ids, true
	}
	count, _ := strconv.Atoi(c.DefaultQuery("queries", "1"))
	ids := make([]int, min(500, max(1, count)))
	for at := range ids {
		ids[at] = rand.IntN(10000) + 1
	}
	return ids, false
}

// In the order of their ids: concurrent updates then never wait for each other in a circle.
func change(write *sql.Stmt, found []world, keep bool) error {
	sort.Slice(found, func(a, b int) bool { return found[a].ID < found[b].ID })
	for at := range found {
		if !keep {
			found[at].RandomNumber = rand.IntN(10000) + 1
		}
		if _, err := write.Exec(found[at].RandomNumber, found[at].ID); err != nil {
			return err
		}
	}
	return nil
}

func answer(c *gin.Context, text string, err error) {
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
		return
	}
	c.String(http.StatusOK, text)
}
